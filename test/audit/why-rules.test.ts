/** `leak-audit why`: lines, redaction, what stays behind (nothing), and reports that were asked who holds the tensors. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Connection } from '../../cli/attach/connection';
import { openPrivate } from '../../cli/why/private-file';
import { limitMs } from '../support/sanitized';
import { Service, until } from '../support/service';
import { LIB } from '../support/torch';
import { leakAudit, Running, refused, testFolder } from './command';

jest.setTimeout(limitMs(180_000));
const folder = testFolder();
const TEMPORARY = path.join(folder, 'tmp');
fs.mkdirSync(TEMPORARY);
const FIXTURE = path.join(__dirname, 'fixtures/holders.cjs');
const holders = () => Service.start({ program: FIXTURE });

/** A program that leaks, and ends by itself. */
const PROGRAM = path.join(folder, 'leaky.cjs');
fs.writeFileSync(
  PROGRAM,
  `const torch = require(process.env.LTN_LIB);
const secretCache = new Map();
function remember(i) {
  secretCache.set('password of ' + i, { logits: torch.zeros([256]) });
}
for (let i = 0; i < 30; i++) remember(i);
// Objects whose handles have the numbers of tensors.
const others = Array.from({ length: 60 }, (_, i) => (i < 30 ? new torch.Generator() : { _handle: secretCache.size + i }));
module.exports = () => [others, secretCache, remember];
if (process.argv[2] === 'stay') process.stdin.resume();
if (process.argv[2] === 'abort') process.kill(process.pid, 'SIGKILL');
`,
);
const PLACE = /secretCache \(module .*leaky\.cjs\) → 30 × \.logits/;

async function runWhy(...args: string[]) {
  process.env.LTN_LIB = path.join(LIB, 'index.js');
  process.env.TMPDIR = TEMPORARY;
  try {
    return await leakAudit(...args);
  } finally {
    delete process.env.LTN_LIB;
    delete process.env.TMPDIR;
  }
}

test('run --why: in the report, its JSON, FILE.why and report FILE; nothing of the heap remains', async () => {
  const capture = path.join(folder, 'leaky.ltna');
  const json = path.join(folder, 'leaky.json');
  const { code, stdout } = await runWhy(
    'run',
    '--why',
    '--quiet',
    '-o',
    capture,
    '--json',
    json,
    '--',
    process.execPath,
    PROGRAM,
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(PLACE);
  expect(stdout).toMatch(/made at .*leaky\.cjs:4:\d+ \(remember\): 30 tensors, 30\.0 KiB/);
  const [site] = JSON.parse(fs.readFileSync(json, 'utf8')).sites;
  expect(site.heldBy).toEqual([
    {
      path: [expect.stringMatching(/^secretCache \(module .*leaky\.cjs\)$/), '30 × .logits'],
      tensors: 30,
      bytes: 30 * 1024,
    },
  ]);
  expect(fs.readdirSync(TEMPORARY)).toEqual([]);
  const kept = fs.readFileSync(`${capture}.why`, 'utf8');
  expect(kept).not.toMatch(/password/);
  expect(fs.statSync(`${capture}.why`).mode & 0o777).toBe(0o600);
  expect((await leakAudit('why', capture)).stdout).toMatch(PLACE);
  expect((await leakAudit('report', capture)).stdout).toMatch(PLACE);
  expect((await leakAudit('why', capture, '--site', 'leaky.cjs:4')).stdout).toMatch(PLACE);
  expect((await leakAudit('why', capture, '--site', './leaky.cjs:4')).stdout).toMatch(PLACE);
  expect((await leakAudit('why', capture, '--site', 'leaky.cjs:5')).stdout).toBe(
    'no live tensor was made at leaky.cjs:5; lines are known only while the process is recorded\n',
  );
  const redacted = await leakAudit('report', capture, '--redact-sources', '--json', '-');
  expect(redacted.stdout).not.toMatch(/secretCache|leaky\.cjs|logits/);
  // The next run is not taken for this one.
  expect((await runWhy('run', '--quiet', '-o', capture, '--', process.execPath, PROGRAM)).code).toBe(0);
  expect(await refused('why', capture)).toMatch(
    /no record of what held its tensors: record with `leak-audit run --why/,
  );
});

test('run --why: nothing of the heap remains after a program is killed, and the report is complete', async () => {
  const { stdout, stderr } = await runWhy('run', '--why', '--quiet', '--', process.execPath, PROGRAM, 'abort');
  expect(stderr).toMatch(/^leak-audit: --why: the program wrote no heap snapshot: it was ended by a signal /m);
  expect(stdout).not.toMatch(/held at the end by/);
  expect(fs.readdirSync(TEMPORARY)).toEqual([]);
});

test('attach --why: the request comes before the detach', async () => {
  const service = await holders();
  const running = new Running(
    'attach',
    String(service.pid),
    '--why',
    '--quiet',
    '-o',
    path.join(folder, 'attached.ltna'),
  );
  await running.wrote(/press Ctrl-C to detach/);
  running.child.kill('SIGINT');
  const { code, stdout, stderr } = await running.outcome;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/the main thread of process \d+ paused for \d+ ms/),
  });
  expect(stdout).toMatch(/held at the end by\n.*→ \.images \(Map\) → 44 × \.pixels/s);
  // The snapshot makes the process larger: the capture says when, so that this is not taken for growth.
  expect(stdout).toMatch(/ at {2}mark\n.* heap snapshot begins\n.* heap snapshot ends\n/);
});

test('attach --why: a process that ends while its heap is read', async () => {
  const program = path.join(folder, 'ends.cjs');
  const leave = "process.on('warning', () => setTimeout(() => process.exit(), 100));";
  fs.writeFileSync(program, `${fs.readFileSync(FIXTURE, 'utf8').replace('if (isMainThread) {', `$& ${leave}`)}`);
  fs.copyFileSync(path.join(__dirname, 'fixtures/holders-module.mjs'), path.join(folder, 'holders-module.mjs'));
  const service = await Service.start({ program });
  const running = new Running('attach', String(service.pid), '--why', '--quiet', '-o', path.join(folder, 'ends.ltna'));
  await running.wrote(/press Ctrl-C to detach/);
  running.child.kill('SIGINT');
  expect((await running.outcome).stdout).toMatch(/held at the end by\n.*→ \.images \(Map\) → 44 × \.pixels/s);
});

test('--redact-sources removes all names of the program', async () => {
  const service = await holders();
  const { stdout } = await leakAudit('why', String(service.pid), '--redact-sources');
  expect(stdout).toMatch(/name-\d+ \(module file-\d+\) → \.name-\d+ \(name-\d+\) → 44 × \.name-\d+/);
  expect(stdout).not.toMatch(/holders[.-]|images|pixels|cache|onData|leftBehind|user-|embedding|weights|request/);
});

test('one client waits for a blocked thread; once no client waits, the thread does not pause', async () => {
  const service = await Service.start();
  const file = path.join(folder, 'go-on');
  expect(await service.tell(`spin ${file}`)).toBe('blocked');
  const [snapshot, facts] = [openPrivate(), openPrivate()];
  expect(fs.fstatSync(snapshot).nlink).toBe(0);
  const first = await Connection.open(String(service.pid));
  const second = await Connection.open(String(service.pid));
  const [thread] = (await first.ask('threads')).threads as [number];
  const fields = { thread, fd: snapshot, facts };
  await first.ask('heap', fields);
  expect((await first.ask('heap-state', { thread })).state).toBe('waiting');
  await expect(second.ask('heap', fields)).rejects.toThrow(/another leak-audit is already waiting for this heap/);
  await expect(second.ask('heap', { ...fields, thread: 4_000_000 })).rejects.toThrow(/the thread has ended/);
  first.close();
  // Once the service has seen that it is gone.
  await until(() =>
    second.ask('heap', fields).then(
      () => true,
      () => false,
    ),
  );
  second.close();
  const third = await Connection.open(String(service.pid));
  await until(() =>
    third.ask('heap-state', { thread }).then(
      () => false,
      () => true,
    ),
  );
  fs.writeFileSync(file, '');
  await service.answer();
  await service.tell('memory');
  third.close();
  expect([fs.fstatSync(snapshot).size, fs.fstatSync(facts).size]).toEqual([0, 0]);
  for (const fd of [snapshot, facts]) fs.closeSync(fd);
  expect((await leakAudit('why', String(service.pid))).code).toBe(0);
});

test('invalid input is refused', async () => {
  const service = await holders();
  expect(await refused('why', path.join(folder, 'none.heapsnapshot'))).toMatch(
    /expected a process id or a file, got '.*', which does not exist$/,
  );
  expect(await refused('why', folder)).toMatch(/expected a capture or heap snapshot, got a folder$/);
  expect(await refused('attach', String(service.pid), '--why', '--background')).toMatch(
    /--why cannot be combined with --background/,
  );
  const file = path.join(folder, 'x.heapsnapshot');
  fs.writeFileSync(file, '{"snapshot":{}}');
  expect(await refused('why', file, '--site', 'a.js:1')).toMatch(/--site: a heap snapshot does not contain the lines/);
});
