/** Files that are not captures: each command reports them in one line and exits with 2. Also narrow terminals. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { analyse } from '../../cli/analysis/analyse';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { plainColors } from '../../cli/terminal/colors';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { CLI, leakAudit, refused, testFolder } from './command';
import { serviceCapture } from './service-capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

beforeAll(() => {
  const whole = leakyCapture().build();
  writeFileSync(file('good'), whole);
  writeFileSync(file('text'), 'These are not the bytes.\n');
  writeFileSync(file('empty'), '');
  writeFileSync(file('cut-in-header'), whole.subarray(0, 11));
  writeFileSync(file('cut-in-start'), whole.subarray(0, 40));
  const newer = Buffer.from(whole);
  newer.writeUInt32LE(99, 8);
  writeFileSync(file('newer'), newer);
  mkdirSync(file('folder'));
});

const BAD: [string, RegExp][] = [
  ['text', /not a leak-audit capture/],
  ['empty', /not a leak-audit capture \(empty or truncated\)/],
  ['cut-in-header', /not a leak-audit capture \(empty or truncated\)/],
  ['cut-in-start', /not a leak-audit capture \(empty or truncated\)/],
  ['newer', /written by a newer leak-audit \(format 99, this version reads \d+\)/],
  ['folder', /expected a capture, got a folder/],
  ['missing', /no such file/],
];

const COMMANDS: [string, (bad: string) => string[]][] = [
  ['report', (bad) => ['report', bad, '--html', file('out.html'), '--json', file('out.json')]],
  ['check', (bad) => ['check', bad]],
  ['diff, first', (bad) => ['diff', bad, file('good')]],
  ['diff, second', (bad) => ['diff', file('good'), bad]],
  ['export', (bad) => ['export', bad, '--csv', file('out.csv')]],
  ['repair', (bad) => ['repair', bad, '-o', file('out.ltna')]],
];
/** repair does not need the header, so its message differs. */
const NOTHING_TO_REPAIR = /not a leak-audit capture \(no start packet\)/;

test('a full device: one line for stdout, and the verdict without stderr', async () => {
  const full = (words: string) =>
    run('sh', ['-c', `exec "$0" "$@" ${words}`, process.execPath, CLI, 'report', file('good')]);
  expect(await full('>/dev/full')).toMatchObject({ code: 2, stderr: 'leak-audit: cannot write to stdout: ENOSPC\n' });
  const { code, stdout } = await full('2>/dev/full');
  expect([code, stdout]).toEqual([0, (await leakAudit('report', file('good'))).stdout]);
});

test('a capture that is truncated before enough rounds is not clean, though no tensor was alive', async () => {
  const whole = new CaptureBuilder().site(1, ['/srv/app.js', 1, 1]);
  for (let i = 1; i <= 3; i++)
    whole.tick({ ms: 100 * i }, [{ site: 1, liveTensors: 0, liveBytes: 0, allocatedTensors: i }]);
  const complete = whole.build();
  writeFileSync(file('short'), complete);
  writeFileSync(file('torn'), complete.subarray(0, complete.length - 10));
  expect(await leakAudit('check', file('short'))).toMatchObject({ code: 0, stdout: 'clean\n' });
  const { code, stdout } = await leakAudit('check', file('torn'));
  expect([code, stdout]).toEqual([
    3,
    'insufficient: the capture is truncated after 200 ms (2 rounds), which is too short to distinguish a leak from warm-up\n',
  ]);
});

test("an option's value is not the next option", async () => {
  expect(await refused('export', file('good'), '--csv', '--pprof')).toBe(
    'leak-audit: --csv <out>: expected a value, got --pprof',
  );
  expect(await refused('run', '-o', '--', process.execPath, '-e', '0')).toMatch(/expected a value, got --$/);
});

test.each(COMMANDS)('%s', async (command, args) => {
  for (const [name, message] of BAD) {
    const { code, stdout, stderr } = await leakAudit(args(file(name)));
    expect({ name, code, stdout }).toEqual({ name, code: 2, stdout: '' });
    const notOne = message.source.startsWith('not a leak-audit capture');
    expect(stderr).toMatch(command === 'repair' && notOne ? NOTHING_TO_REPAIR : message);
    expect(stderr).toContain(file(name));
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
  for (const output of ['out.html', 'out.json', 'out.csv', 'out.ltna']) expect(existsSync(file(output))).toBe(false);
});

test.each([
  [['reprt', 'x'], "unknown command 'reprt' (Did you mean report?) (see leak-audit --help)"],
  [['report'], "missing required argument 'file' (see leak-audit report --help)"],
  [['diff', 'a'], "missing required argument 'b' (see leak-audit diff --help)"],
  [['check', 'a', '--nope'], "unknown option '--nope' (see leak-audit check --help)"],
  [
    ['export', 'a', 'b'],
    "too many arguments for 'export'. Expected 1 argument but got 2. (see leak-audit export --help)",
  ],
  [['repair', 'a', '-o'], "option '-o, --output <file>' argument missing (see leak-audit repair --help)"],
  [
    ['run', '-o', './x.ltna', '--json', 'x.ltna', '--', 'node'],
    '-o and --json are both x.ltna: expected different files',
  ],
  [['run', '--html', '-', '--json', '-', '--', 'node'], '--html and --json are both stdout: expected different files'],
  [['attach', '1', '-o', 'x.ltna', '--html', './x.ltna'], '-o and --html are both ./x.ltna: expected different files'],
  [['report', 'a', '--html', 'a'], 'the capture and --html are both a: expected different files'],
  [['check', 'a', '--junit', 'b', '--sarif', 'b'], '--junit and --sarif are both b: expected different files'],
  [['diff', 'a', 'b', '--json', 'b'], 'b and --json are both b: expected different files'],
  [['export', 'a', '--csv', 'a'], 'the capture and --csv are both a: expected different files'],
  [['run', '--interval', '597h', '--', 'node'], '--interval: expected at most 596h, got 597h'],
  [['run', '--', '/no/such/program'], "cannot run '/no/such/program': not found"],
  [['run', '--', folder], `cannot run '${folder}': not executable`],
])('wrong usage is one line that refers to the help: %j', async (args, message) => {
  expect(await leakAudit(args)).toMatchObject({ code: 2, stdout: '', stderr: `leak-audit: ${message}\n` });
});

test('special files are written to, not replaced', async () => {
  writeFileSync(file('plain'), leakyCapture().build());
  execFileSync('mkfifo', [file('pipe')]);
  const reader = run('cat', [file('pipe')], {});
  expect(await leakAudit(['report', file('plain'), '--json', file('pipe')])).toMatchObject({ code: 0 });
  expect(JSON.parse((await reader).stdout)).toMatchObject({ verdict: 'leak' });
  expect(statSync(file('pipe')).isFIFO()).toBe(true);
});

test.each([
  ['a pipe', 'a pipe', () => file('waits')],
  ['a device without an end', 'a device', () => '/dev/zero'],
])('%s is neither a baseline nor suppressions, and is not waited for', async (_, kind, name) => {
  if (!existsSync(file('waits'))) execFileSync('mkfifo', [file('waits')]);
  writeFileSync(file('plain'), leakyCapture().build());
  for (const option of ['--baseline', '--suppressions'])
    expect(await leakAudit(['check', file('plain'), option, name()])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `leak-audit: ${name()}: expected a regular file, got ${kind}\n`,
    });
});

test('a capture with a trailing hole of a gigabyte is read in little memory', async () => {
  writeFileSync(file('hole'), leakyCapture().build());
  truncateSync(file('hole'), 2 ** 30);
  const { code, stdout } = await leakAudit(['report', file('hole')], { NODE_OPTIONS: '--max-old-space-size=64' });
  expect(code).toBe(0);
  expect(stdout).toMatch(/LEAK .*app\.js:10:5/);
  expect(stdout).toMatch(/the capture is truncated: its last 1,073,\d{3},\d{3} bytes cannot be read/);
});

test('the help of each command fits into 80 columns', async () => {
  const { stdout } = await leakAudit(['--help']);
  const commands = [...stdout.matchAll(/^ {2}(\w+) .* {2,}\S/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== 'help');
  expect(commands).toEqual(
    expect.arrayContaining(['run', 'report', 'check', 'diff', 'export', 'repair', 'completion']),
  );
  for (const command of [[], ...commands.map((name) => [name])]) {
    const help = await leakAudit([...command, '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  }
});

test('an endless file that is not a capture is not read to its end', async () => {
  const { code, stderr } = await leakAudit(['report', '/dev/zero']);
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'leak-audit: /dev/zero: not a leak-audit capture\n' });
});

test('every table fits in 80 columns, and truncated paths keep their end', () => {
  const parser = new CaptureParser();
  parser.feed(serviceCapture().build());
  const text = renderText(analyse(parser.capture), { colors: plainColors, folder: '/elsewhere', columns: 80 });
  const table = text.slice(text.indexOf('verdict')).split('\n');
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]); // including the sentence and the notes
  expect(text).toMatch(/^\w+ .* …\S*\/train, "fast"\.ts:77:9$/m);
  expect(table[0]).not.toMatch(/allocated/); // the first column that is dropped
});

test('the width comes from the terminal, and NO_COLOR is obeyed', async () => {
  writeFileSync(file('service'), serviceCapture().build());
  // A terminal of its own, 80 columns wide, as ssh gives one.
  const script = `
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
out = b''
try:
    while True:
        part = os.read(fd, 65536)
        if not part: break
        out += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(out)`;
  const inTerminal = async (env: NodeJS.ProcessEnv) => {
    const args = ['-c', script, process.execPath, CLI, 'report', file('service')];
    const { FORCE_COLOR, NO_COLOR, ...ordinary } = ordinaryEnv();
    return (await run('/usr/bin/python3', args, { env: { ...ordinary, TERM: 'xterm', ...env } })).stdout;
  };
  const [painted, plain] = [await inTerminal({}), await inTerminal({ NO_COLOR: '1' })];
  expect(stripVTControlCharacters(painted)).not.toBe(painted);
  expect(stripVTControlCharacters(plain)).toBe(plain);
  const rows = plain.split('\r\n').filter((line) => /^\S.*:\d+:\d+( \S+)?$/.test(line));
  expect(rows).toHaveLength(4);
  expect(rows.filter((line) => line.length > 80)).toEqual([]);
});
