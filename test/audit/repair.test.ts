import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Flag, fileHeader } from '../../cli/capture/format';
import { readCapture } from '../../cli/capture/reader';
import { areSameFile } from '../../cli/files/regular-file';
import { run } from '../support/child';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { CLI, leakAudit } from './command';

// Many runs of the command, each of which takes seconds on a busy machine.
jest.setTimeout(600_000);

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-repair-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const write = (name: string, content: Buffer | string) => {
  fs.writeFileSync(path.join(folder, name), content);
  return path.join(folder, name);
};

test('packets with valid checksums are kept, and the capture stays marked as incomplete', async () => {
  const bytes = leakyCapture(48).end().build();
  const middle = Math.floor(bytes.length / 2);
  bytes.fill(0xaa, middle, middle + 40);
  const file = write('damaged.ltna', bytes);
  const { code, stdout } = await leakAudit('repair', file);
  expect(code).toBe(0);
  expect(stdout).toMatch(/damaged\.ltna\.repaired: 4[678] rounds in \d+ packets recovered; lost: [12] packets, /);
  const repaired = readCapture(`${file}.repaired`);
  expect(repaired.damagedPackets).toBe(0);
  expect(repaired.lostFlag).toBe(true);
  expect(repaired.ticks).toEqual(readCapture(file).ticks);
  expect(repaired.end?.reason).toBe('exit');
  expect(fs.readFileSync(file)).toEqual(bytes);
  expect((await leakAudit('check', `${file}.repaired`)).code).toBe(1); // the leak is still found
});

test('a torn tail does not count as a loss, and a damaged header is not needed', async () => {
  const bytes = leakyCapture(10).build();
  const torn = write('torn', bytes.subarray(0, bytes.length - 9));
  const out = path.join(folder, 'out');
  expect((await leakAudit('repair', torn, '-o', out)).stdout).toMatch(/10? rounds|9 rounds/);
  expect(readCapture(out)).toMatchObject({ lost: 0, tornBytes: 0 });
  const headless = write('headless', Buffer.concat([Buffer.alloc(16, 7), bytes.subarray(16)]));
  expect((await leakAudit('repair', headless, '-o', out)).code).toBe(0);
  expect(readCapture(out).ticks).toHaveLength(10);
  const whole = write('whole', bytes);
  expect((await leakAudit('repair', whole, '-o', out)).stdout).toMatch(/nothing was damaged/);
  expect(fs.readFileSync(out)).toEqual(bytes);
});

test('every round without the flipped bit is recovered', async () => {
  const bytes = leakyCapture(6).build();
  const first = new CaptureBuilder().build().length;
  for (let at = first; at < bytes.length; at += 23) {
    const flipped = Buffer.from(bytes);
    flipped[at]! ^= 1 << (at % 8);
    const capture = readCapture(write('flipped', flipped));
    expect(capture.ticks.length).toBeGreaterThanOrEqual(5);
    expect(capture.lost).toBe(1);
  }
});

test('two files with one number, on two devices, are not one file', () => {
  const stat = fs.statSync(write('one', ''));
  expect(areSameFile(stat, fs.statSync(path.join(folder, 'one')))).toBe(true);
  expect(areSameFile(stat, { ino: stat.ino, dev: stat.dev + 1 })).toBe(false);
  expect(areSameFile(undefined, undefined)).toBe(false);
});

test('files that are not captures are refused in one line, and nothing is written', async () => {
  const newer = leakyCapture(1).build();
  newer.writeUInt32LE(3, 8);
  const older = leakyCapture(1).build();
  older.writeUInt32LE(1, 8);
  const whole = write('whole', leakyCapture(1).build());
  const cases: [string[], RegExp][] = [
    [[write('text', 'hello, I am a text file')], /not a leak-audit capture/],
    [[write('empty', '')], /not a leak-audit capture/],
    [[write('header', fileHeader(0))], /not a leak-audit capture/],
    [[write('newer', newer)], /written by a newer leak-audit \(format 3, this version reads 2\)/],
    [[write('older', older)], /written by an older leak-audit \(format 1, this version reads 2\): record it again/],
    [[folder], /expected a capture, got a folder$/m],
    [['/dev/zero'], /expected a capture, got a device$/m],
    [[path.join(folder, 'missing')], /no such file/],
    [[whole, '-o', whole], /would be overwritten/],
    [[whole, '-o', '/no/such/folder/x'], /cannot write/],
  ];
  const before = fs.readdirSync(folder).sort();
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await leakAudit('repair', ...args);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  }
  expect(fs.readdirSync(folder).sort()).toEqual(before);
  const unclaimed = write('unclaimed', fileHeader(Flag.reserved));
  expect((await leakAudit('repair', unclaimed)).code).toBe(0);
});

test('an output whose first byte cannot be written leaves nothing behind', async () => {
  const whole = write('whole', leakyCapture(10).end().build());
  const line = `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`;
  const repair = [process.execPath, CLI, 'repair', whole, '-o', path.join(folder, 'out')];
  const { code, stderr } = await run('sh', ['-c', line, ...repair]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `leak-audit: cannot write ${path.join(folder, 'out')}: EFBIG\n`,
  });
  expect(fs.readdirSync(folder)).toEqual(['whole']);
});
