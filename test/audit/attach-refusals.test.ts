/** Refused processes, and clients that must not be able to affect a service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { findTarget, whySilent } from '../../cli/attach/target';
import { type Outcome, run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service, until } from '../support/service';
import { LIB, thrown } from '../support/torch';
import { leakAudit, ROOT, Running, refused, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));
const NOBODY = 65534;
const COMMANDS = [['attach'], ['detach'], ['snapshot'], ['live'], ['mark'], ['why']];
const all = (pid: string | number, message: RegExp) =>
  Promise.all(
    COMMANDS.map(async ([name]) => {
      const given = name === 'mark' ? [String(pid), 'x'] : [String(pid)];
      if ((name === 'live' || name === 'why') && !/^\d+$/.test(String(pid))) return; // that is a file
      expect(await refused(name!, ...given)).toMatch(message);
    }),
  );

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
function started(command: string, ...args: string[]): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return new Promise((resolve) => child.stdout!.once('data', () => resolve(child)));
}

test('--help of each command shows its usage and exit statuses', async () => {
  for (const [name] of COMMANDS) {
    const { code, stdout, stderr } = await leakAudit(name!, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`Usage: leak-audit ${name} .*<pid`));
    expect(stdout).toMatch(/Exit status: 0/);
  }
});

test('an id that is not a process, or of one that has ended', async () => {
  await all('nonsense', /expected a process id, got 'nonsense'/);
  await all('0', /expected a process id, got '0'/);
  await all('99999999', /expected a process id, got '99999999'/);
  const child = await started(process.execPath, '-e', 'console.log(1)');
  await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)));
  await all(child.pid!, /there is no process \d+/);
});

test('a process without libtorch-node, a thread, and a process that refuses', async () => {
  const bare = await started(process.execPath, '-e', 'setInterval(() => {}, 1000); console.log(1)');
  expect(() => findTarget(String(bare.pid))).toThrow(/it may still be starting, so try again in a moment$/);
  await all(bare.pid!, /process \d+ has not loaded libtorch-node/);
  const service = await Service.start({ variables: { LIBTORCH_NODE_ATTACH: '0' } });
  await all(service.pid, /process \d+ does not listen: it was started with LIBTORCH_NODE_ATTACH=0$/);
  const thread = (await import('node:fs')).readdirSync(`/proc/${bare.pid}/task`).find((id) => id !== String(bare.pid))!;
  await all(thread, /\d+ is a thread of process \d+/);
});

test('a process whose child has loaded libtorch-node, as that of npm', async () => {
  const program = `require(${JSON.stringify(LIB)}); process.send('loaded'); process.on('disconnect', () => process.exit());`;
  const wrapper = await started(
    process.execPath,
    '-e',
    `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('message', () => console.log(child.pid));`,
  );
  const message =
    /^process (\d+) has not loaded libtorch-node, but process (\d+), a descendant of it, has: attach to that one$/;
  const found = thrown(() => findTarget(String(wrapper.pid)));
  expect(found.message).toMatch(message);
  const [, parent, child] = message.exec(found.message)!;
  expect(Number(parent)).toBe(wrapper.pid);
  expect(findTarget(child!).pid).toBe(Number(child));
});

test('a stopped process is not waited for', async () => {
  const service = await Service.start();
  service.child.kill('SIGSTOP');
  await until(async () => /^State:\s*T/m.test(readFileSync(`/proc/${service.pid}/status`, 'utf8')));
  await all(service.pid, /process (\d+) is stopped: continue it with kill -CONT \1$/);
  service.child.kill('SIGCONT');
  await until(async () => (await leakAudit('snapshot', String(service.pid))).code === 0);
});

test('a starting process is distinguished from one that will never listen', () => {
  const silent = { loaded: false, refuses: false, ageMs: 3_600_000 };
  const starting = ': it may still be starting, so try again in a moment';
  expect(whySilent(7, silent)).toBe('process 7 has not loaded libtorch-node');
  expect(whySilent(7, { ...silent, child: 9, ageMs: 900 })).toMatch(
    /^process 7 has not .* but process 9, a descendant of it, has/,
  );
  expect(whySilent(7, { ...silent, ageMs: 900 })).toBe(`process 7 has not loaded libtorch-node${starting}`);
  // Between the loading of the addon, which brings libtorch, and its first lines.
  expect(whySilent(7, { ...silent, loaded: true, ageMs: 900 })).toBe(`process 7 does not listen yet${starting}`);
  expect(whySilent(7, { ...silent, loaded: true })).toMatch(/does not listen: it has an older libtorch-node/);
  expect(whySilent(7, { loaded: true, refuses: true, ageMs: 900 })).toMatch(/was started with LIBTORCH_NODE_ATTACH=0$/);
});

/** `leak-audit …`, or with `direct` a bare connection to the socket, as another user. */
async function asNobody(args: string[], address: string): Promise<Outcome> {
  // The modules first: the checkout may be in a folder that others cannot read.
  const own = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});`;
  const outcome = await withoutRights([], own, args, address);
  // Node refuses that where its libuv may use io_uring; then another program has to do it.
  return outcome.stderr.includes('ERR_INVALID_STATE') ? withoutRights(SETPRIV, '', args, address) : outcome;
}

const SETPRIV = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

function withoutRights(before: string[], drop: string, args: string[], address: string): Promise<Outcome> {
  const script = `
    const { main } = require('./dist/cli/program/program');
    const { commands } = require('./dist/cli/commands');
    ${drop}
    if (${JSON.stringify(address)} === '') main({ name: 'leak-audit', description: '', commands });
    else require('node:net').connect(${JSON.stringify(`\0${address}`)}).on('data', (text) => process.stdout.write(text));`;
  const command = [...before, process.execPath, '-e', script, 'leak-audit', ...args];
  // Certificates that others cannot read would be a warning on stderr.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = ordinaryEnv();
  return run('/bin/sh', ['-c', 'cd "$0" && exec "$@"', ROOT, ...command], { env });
}

/** As root both directions are tested; otherwise root's processes are those of another user. */
test("another user's process", async () => {
  if (process.geteuid!() !== 0) {
    await all(1, /process 1 belongs to another user/);
    return;
  }
  const service = await Service.start();
  const { address } = findTarget(String(service.pid));
  const { code, stdout, stderr } = await asNobody(['snapshot', String(service.pid)], '');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(
    `leak-audit: process ${service.pid} belongs to another user (uid 0): run leak-audit as that user\n`,
  );
  expect((await asNobody([], address)).stdout).toBe('{"error":"the process belongs to another user"}\n');

  const [setpriv, ...to] = SETPRIV;
  const theirs = await started(setpriv!, ...to, process.execPath, '-e', 'setInterval(() => {}, 1000); console.log(1)');
  await all(theirs.pid!, /belongs to another user \(uid 65534\): run leak-audit as that user/);
});

/** The service's answer to these bytes, until it closes the connection or `ms` pass. */
function talk(address: string, bytes: string | Buffer, ms: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect({ path: `\0${address}` }, () => socket.write(bytes));
    const timer = setTimeout(() => socket.destroy(), ms);
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

/** The first line of the answer. */
function answerTo(address: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect({ path: `\0${address}` }, () => socket.write(bytes));
    socket.on('error', reject).on('data', (part) => {
      text += part;
      if (!text.includes('\n')) return;
      socket.destroy();
      resolve(text.split('\n')[0]!);
    });
  });
}

test('garbage, partial requests, silence and many connections do not affect a service', async () => {
  const service = await Service.start();
  await service.tell('hold 3');
  const { address } = findTarget(String(service.pid));
  const errorFor = async (line: string) => JSON.parse(await answerTo(address, `${line}\n`)).error;
  expect(await errorFor('hello')).toMatch(/not a request/);
  expect(await errorFor('ltn9 status')).toMatch(/version 1/);
  expect(await errorFor('ltn1 dance')).toMatch(/unknown request/);
  expect(await errorFor('ltn1 mark name=%ff')).toMatch(/is malformed/);
  expect(await errorFor('ltn1 attach fd=0')).toMatch(/./); // not a capture
  expect(await errorFor('ltn1 attach fd=9999')).toMatch(/cannot open/);

  const silent = Array.from({ length: 40 }, () => net.connect({ path: `\0${address}` }).on('error', () => {}));
  const verbs = ['status', 'attach', 'detach', 'mark', 'snapshot', 'x', ''];
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('error', resolve))),
  );
  for (const socket of silent) socket.destroy();
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const noise = randomBytes(random(3000)).toString('latin1');
        const line = `ltn1 ${verbs[random(verbs.length)]} fd=${random(30)} path=${noise.replaceAll('\n', '')}`;
        const bytes = [noise, line, `${line}\n`, `${line.slice(0, random(40))}\n`.repeat(50), 'x'.repeat(200_000)];
        return talk(address, Buffer.from(bytes[i % bytes.length]!, 'latin1'), 5 + random(30));
      }),
    );
  }
  const busy = Array.from({ length: 10 }, () => net.connect({ path: `\0${address}` }).on('error', () => {}));
  expect(await service.tell('memory')).toMatchObject({ tensors: 3 });
  const { code, stdout } = await leakAudit('snapshot', String(service.pid), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ tensors: 3, sites: null });
  for (const socket of busy) socket.destroy();
  const capture = path.join(folder, 'after');
  const attached = new Running('attach', String(service.pid), '-o', capture);
  await attached.wrote(/recording process/);
  await until(async () => readFileSync(capture).includes('(before attach)'));
  expect(await leakAudit('detach', String(service.pid))).toMatchObject({ code: 0 });
  expect(await attached.outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('(before attach)') });
});

test('an unwritable file is detected before the recording', async () => {
  const service = await Service.start();
  expect(await refused('attach', String(service.pid), '-o', '/no/such/folder/x')).toMatch(/cannot write/);
  expect(await refused('attach', String(service.pid), '--duration', 'soon')).toMatch(/expected a duration/);
  expect(await refused('attach', String(service.pid), '--background', '--json', '-')).toMatch(/prints no report/);
  expect(await refused('live', '/no/such/file')).toMatch(/no such file/);
  expect(await refused('live', __filename)).toMatch(/not a leak-audit capture/);
  expect(JSON.parse((await leakAudit('snapshot', String(service.pid), '--json')).stdout).sites).toBeNull();
});
