/** What is no capture: each command that reads one says so in a line, and exits with 2. Narrow terminals. */
import { mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { analyse } from '../../cli/analysis';
import { CaptureParser } from '../../cli/capture/reader';
import { plainColors } from '../../cli/colors';
import { renderText } from '../../cli/reporters/text';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { leakyCapture } from './capture_builder';
import { CLI, leakAudit, testFolder } from './command';
import { serviceCapture } from './service_capture';

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
  ['empty', /not a leak-audit capture \(it is empty or cut off\)/],
  ['cut-in-header', /not a leak-audit capture \(it is empty or cut off\)/],
  ['cut-in-start', /not a leak-audit capture \(it is empty or cut off\)/],
  ['newer', /written by a newer leak-audit \(format 99, this one reads \d+\)/],
  ['folder', /folder|EISDIR/],
  ['missing', /no such file/],
];

const COMMANDS: [string, (bad: string) => string[]][] = [
  ['report', (bad) => ['report', bad, '--html', file('out.html'), '--json', file('out.json')]],
  ['check', (bad) => ['check', bad]],
  ['diff, first', (bad) => ['diff', bad, file('good')]],
  ['diff, second', (bad) => ['diff', file('good'), bad]],
  ['export', (bad) => ['export', bad, '--csv', file('out.csv')]],
];

test.each(COMMANDS)('%s', async (_, args) => {
  for (const [name, message] of BAD) {
    const { code, stdout, stderr } = await leakAudit(args(file(name)));
    expect({ name, code, stdout }).toEqual({ name, code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toContain(file(name));
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
});

test('an endless file that is no capture is not read to its end', async () => {
  const { code, stderr } = await leakAudit(['report', '/dev/zero']);
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'leak-audit: /dev/zero: not a leak-audit capture\n' });
});

test('in 80 columns every table fits, and what is left of a path is its end', () => {
  const parser = new CaptureParser();
  parser.feed(serviceCapture().build());
  const text = renderText(analyse(parser.capture), { colors: plainColors, folder: '/elsewhere', columns: 80 });
  const table = text.slice(text.indexOf('verdict'), text.indexOf('\nnote:')).split('\n');
  expect(table.filter((line) => line.length > 80)).toEqual([]);
  expect(text).toMatch(/^\w+ .* …\S*\/train, "fast"\.ts:77:9$/m);
  expect(table[0]).not.toMatch(/allocated/); // the first that goes
});

test('a terminal is asked for its width, and NO_COLOR is obeyed in it', async () => {
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
