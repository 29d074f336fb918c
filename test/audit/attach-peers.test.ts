/** Whom a service answers, whose socket leak-audit believes, and what strangers cost. Processes of other users and namespaces. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import * as net from 'node:net';
import { createInterface } from 'node:readline';
import { findTarget } from '../../cli/attach/target';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service, until } from '../support/service';
import { CLI, leakAudit, ROOT } from './command';

jest.setTimeout(limitMs(240_000));
const NOBODY = 65534;
const isRoot = process.geteuid!() === 0;
const SETPRIV = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

const children: ChildProcess[] = [];
const sockets: net.Socket[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** The lines of a program that keeps running. */
function started(command: string[]): AsyncIterator<string> {
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], env: ordinaryEnv() });
  children.push(child);
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

function connected(address: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: `\0${address}` });
    sockets.push(socket);
    socket.once('connect', () => resolve(socket)).on('error', reject);
  });
}

/** Writes its argument to the socket, and prints the first answer. */
const CLIENT = `
  const [address, request] = process.argv.slice(1);
  const socket = require('node:net').connect('\\0' + address);
  socket.on('error', () => {}).on('data', (text) => { process.stdout.write(text); socket.destroy(); });
  if (request !== '') socket.write(request + '\\n');`;

/** The answer of a service to a minimal client that `surroundings` starts. */
async function said(address: string, surroundings: string[], request = ''): Promise<any> {
  const command = [...surroundings, process.execPath, '-e', CLIENT, address, request];
  const { stdout } = await run(command[0]!, command.slice(1), { env: ordinaryEnv() });
  return JSON.parse(stdout);
}

const can = (command: string[]) => spawnSync(command[0]!, [...command.slice(1), 'true']).status === 0;

/** Each has the same user id as the service. If the machine does not allow this, only the native tests cover the decision. */
const ELSEWHERE = [
  ['unshare', '--pid', '--fork', '--mount-proc'],
  ['unshare', '--pid', '--fork'],
  ['unshare', '--mount'],
  ['unshare', '--user', '--map-root-user'],
].filter(can);

test('the same user in another namespace is answered only if the process allows it', async () => {
  const [strict, open] = [
    await Service.start(),
    await Service.start({ variables: { LIBTORCH_NODE_ATTACH: 'all-namespaces' } }),
  ];
  const { address } = findTarget(String(strict.pid));
  expect(await said(address, [], 'ltn1 status')).toMatchObject({ ok: true, pid: strict.pid });
  for (const surroundings of ELSEWHERE) {
    const { error } = await said(address, surroundings);
    expect([surroundings, error]).toEqual([
      surroundings,
      expect.stringContaining('another pid, mount or user namespace'),
    ]);
    const answer = await said(findTarget(String(open.pid)).address, surroundings, 'ltn1 status');
    expect([surroundings, answer]).toEqual([surroundings, expect.objectContaining({ ok: true, pid: open.pid })]);
  }
  if (!can(['unshare', '--mount'])) return;
  const command = ['--mount', process.execPath, CLI, 'snapshot'];
  const refusal = await run('unshare', [...command, String(strict.pid)], { env: ordinaryEnv() });
  expect(refusal).toMatchObject({ code: 2, stdout: '' });
  expect(refusal.stderr).toMatch(
    /^leak-audit: process \d+: leak-audit is in another .* LIBTORCH_NODE_ATTACH=all-namesp/,
  );
  const allowed = await run('unshare', [...command, String(open.pid)], { env: ordinaryEnv() });
  expect(allowed).toMatchObject({ code: 0, stderr: '' });
});

test('the overflow user id of a user namespace does not identify a user', async () => {
  if (!can(['unshare', '--user'])) return; // AuditPeer.IsNotTheOverflowUser has it
  const service = await Service.start({
    variables: { LIBTORCH_NODE_ATTACH: 'all-namespaces' },
    command: ['unshare', '--user', process.execPath],
  });
  const { address } = findTarget(String(service.pid));
  const shared = { error: expect.stringMatching(/the user number that all users outside its user namespace share/) };
  expect(await said(address, [])).toEqual(shared);
  if (isRoot) expect(await said(address, SETPRIV)).toEqual(shared);
});

/** Holds the socket names of future processes, and the name of an existing other process. */
const SQUATTER = `
  const fs = require('node:fs');
  const net = require('node:net');
  const space = /\\d+/.exec(fs.readlinkSync('/proc/self/ns/pid'))[0];
  const hold = (name) => new Promise((resolve) =>
    net.createServer().on('error', resolve).listen({ path: '\\0' + ('libtorch-node/' + space + '/' + name).padEnd(107, '.') }, resolve));
  (async () => {
    for (const victim of process.argv.slice(1)) await hold(victim + '/' + '0'.repeat(32) + '/');
    for (let pid = process.pid + 1; pid < process.pid + 600; pid++) await hold(pid + '/');
    console.log('ready');
  })();`;

test('another holder of the socket name is neither trusted nor an obstacle', async () => {
  const silent = await Service.start({ variables: { LIBTORCH_NODE_ATTACH: '0' } });
  const first = await Service.start();
  const before = findTarget(String(first.pid));
  await started([process.execPath, '-e', SQUATTER, String(silent.pid), String(first.pid)]).next();
  expect(() => findTarget(String(silent.pid))).toThrow('was started with LIBTORCH_NODE_ATTACH=0');
  expect(findTarget(String(first.pid))).toEqual(before);
  const service = await Service.start();
  expect(await leakAudit('snapshot', String(service.pid))).toMatchObject({ code: 0, stderr: '' });
  expect(findTarget(String(service.pid)).address).toMatch(/^libtorch-node\/\d+\/\d+\/[0-9a-f]{32}\/\.+$/);
});

test('a process that hides its descriptors is not trusted, whatever listens', async () => {
  if (!isRoot) return; // only root may become another user
  const service = await Service.start();
  const asNobody = (before: string[], drop: string) => {
    // The module first: the checkout may be in a folder that others cannot read.
    const script = `
      const { findListener } = require('./dist/cli/attach/listener');
      ${drop}
      try { findListener(${service.pid}, 'libtorch-node/'); } catch (error) { console.log(error.message); }`;
    const command = [...before, process.execPath, '-e', script];
    return run('/bin/sh', ['-c', 'cd "$0" && exec "$@"', ROOT, ...command], { env: ordinaryEnv() });
  };
  const own = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});`;
  let { stdout, stderr } = await asNobody([], own);
  // Node refuses that where its libuv may use io_uring; then another program has to do it.
  if (stderr.includes('ERR_INVALID_STATE')) ({ stdout, stderr } = await asNobody(SETPRIV, ''));
  expect(stdout).toMatch(/^cannot read the open files of process \d+ \(EACCES\), so its socket cannot be verified/);
});

test('silent connections of this user are closed to make room, also slow ones', async () => {
  const service = await Service.start();
  const { address } = findTarget(String(service.pid));
  const crowd = await Promise.all(Array.from({ length: 63 }, () => connected(address)));
  const drops = await connected(address);
  const isOver = [...crowd, drops].map(
    (one) => new Promise<void>((resolve) => one.on('close', () => resolve()).resume()),
  );
  const drip = setInterval(() => drops.write('l'), 100);
  for (let i = 0; i < 3; i++) expect(await leakAudit('snapshot', String(service.pid))).toMatchObject({ code: 0 });
  await Promise.all(isOver); // each is closed in the end
  clearInterval(drip);
});

/** Connects repeatedly, and reports every hundredth accepted connection. */
const FLOOD = `
  let count = 0;
  const again = () => require('node:net').connect('\\0' + process.argv[1])
    .on('connect', () => ++count % 100 === 0 && console.log(count)).on('error', () => {}).on('close', () => setImmediate(again)).resume();
  for (let i = 0; i < 400; i++) again(); // more than wait in the queue`;

// The native tests of AuditAcceptLimiter cover the rate limit for other users.
test('a flood from another user does not lock the owner out', async () => {
  if (!isRoot) return;
  const service = await Service.start();
  const lines = started([...SETPRIV, process.execPath, '-e', FLOOD, findTarget(String(service.pid)).address]);
  await lines.next();
  let strangers = 0;
  const count = (async () => {
    while (strangers < 6000) strangers = Number((await lines.next()).value);
  })();
  for (let i = 0; i < 3; i++) expect(await leakAudit('snapshot', String(service.pid))).toMatchObject({ code: 0 });
  await count; // the service keeps checking strangers
});

/** Loads the library in `threads`, one after the other, each with its environment, and keeps running. */
const THREADS = `
  const { Worker, SHARE_ENV } = require('node:worker_threads');
  const load = 'require(' + JSON.stringify(process.env.LTN_LIB) + ');';
  const steps = {
    main: () => require(process.env.LTN_LIB),
    off: () => { process.env.LIBTORCH_NODE_ATTACH = '0'; },
    forget: () => { delete process.env.LIBTORCH_NODE_ATTACH; },
    worker: (env) => new Promise((resolve, reject) => {
      const code = load + "require('node:worker_threads').parentPort.on('message', () => {}).postMessage(1)";
      new Worker(code, { eval: true, env: env === 'shared' ? SHARE_ENV : JSON.parse(env) }).once('message', resolve).once('error', reject);
    }),
  };
  (async () => {
    for (const step of process.argv.slice(1)) {
      await steps[step.split(' ')[0]](step.split(' ')[1]);
      console.log(step);
    }
    setInterval(() => {}, 1000);
  })();`;

async function listensAfter(env: NodeJS.ProcessEnv, ...steps: string[]): Promise<boolean> {
  const child = spawn(process.execPath, ['-e', THREADS, ...steps], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...ordinaryEnv(), LTN_LIB: `${ROOT}/dist/lib/index.js`, ...env },
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  for (const step of steps) expect((await lines.next()).value).toBe(step);
  try {
    return findTarget(String(child.pid)).pid === child.pid;
  } catch (error) {
    expect((error as Error).message).toMatch(/does not listen/);
    return false;
  }
}

test('LIBTORCH_NODE_ATTACH=0 of the process or the main thread applies to all threads; that of a worker only to itself', async () => {
  const own = ['worker {}', 'worker {"LIBTORCH_NODE_ATTACH":"1"}', 'worker {"LIBTORCH_NODE_ATTACH":"all-namespaces"}'];
  const off = { LIBTORCH_NODE_ATTACH: '0' };
  expect(await listensAfter(off, ...own, 'worker shared')).toBe(false);
  expect(await listensAfter(off, 'main', 'forget', ...own, 'worker shared')).toBe(false);
  expect(await listensAfter({}, 'off', ...own, 'worker shared')).toBe(false);
  expect(await listensAfter({}, 'off', 'main', 'forget', ...own, 'worker shared')).toBe(false);
  expect(await listensAfter({}, 'worker {"LIBTORCH_NODE_ATTACH":"0"}')).toBe(false);
  expect(await listensAfter({}, 'worker {"LIBTORCH_NODE_ATTACH":"0"}', 'main')).toBe(true);
  expect(await listensAfter({}, 'main', 'worker {"LIBTORCH_NODE_ATTACH":"0"}')).toBe(true);
});

test('a process that cannot listen warns of it, once', async () => {
  const script = `
    const fs = require('node:fs');
    const dlopen = process.dlopen;
    process.dlopen = (module, ...rest) => {
      dlopen.call(process, module, ...rest);
      const listen = module.exports.auditListen;
      module.exports.auditListen = (...given) => {
        const open = [];
        try { for (;;) open.push(fs.openSync('/dev/null')); } catch {} // until descriptors run out
        try { return listen(...given); } finally { for (const fd of open) fs.closeSync(fd); }
      };
    };
    process.on('warning', ({ name, code, message }) => console.log(JSON.stringify({ name, code, message })));
    const lib = ${JSON.stringify(`${ROOT}/dist/lib/index.js`)};
    require(lib);
    new (require('node:worker_threads').Worker)('require(' + JSON.stringify(lib) + ')', { eval: true });`;
  const command = ['-c', 'ulimit -n 200; exec "$0" -e "$1"', process.execPath, script];
  const { code, stdout, stderr } = await run('/bin/sh', command, { env: ordinaryEnv() });
  expect({
    code,
    warned: stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }).toEqual({
    code: 0,
    warned: [
      {
        name: 'TorchWarning',
        code: 'ERR_TORCH_ATTACH',
        message: 'leak-audit attach cannot reach this process: cannot create a socket: Too many open files',
      },
    ],
  });
  expect(stderr.match(/ERR_TORCH_ATTACH/g)).toHaveLength(1);
});

test('the connection is to the named process: its socket is checked before and after', async () => {
  const service = await Service.start();
  const target = findTarget(String(service.pid));
  const own = readdirSync(`/proc/${service.pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${service.pid}/fd/${fd}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  expect(own).toContain(`socket:[${target.inode}]`);
  service.kill();
  await service.exited;
  await until(async () => {
    try {
      findTarget(String(service.pid));
      return false;
    } catch (error) {
      return /has ended|there is no process/.test((error as Error).message);
    }
  });
});
