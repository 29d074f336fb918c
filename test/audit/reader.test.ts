import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { crc32 } from '../../cli/capture/format';
import { CaptureFollower, CaptureParser, readCapture } from '../../cli/capture/reader';
import { UsageError } from '../../cli/errors';
import { CaptureBuilder, leakyCapture } from './capture_builder';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-reader-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const parse = (bytes: Buffer) => {
  const parser = new CaptureParser();
  parser.feed(bytes);
  return parser.capture;
};

test('crc32 gives the check value of the standard', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
});

test('a whole capture gives start, sites, rounds and end', () => {
  const capture = parse(leakyCapture(10).end('exit').build());
  expect(capture.start).toMatchObject({ pid: 42, mode: 'full', command: 'node app.js' });
  expect(capture.end?.reason).toBe('exit');
  expect(capture.ticks).toHaveLength(10);
  expect(capture.ticks[9]).toMatchObject({ ms: 2500, tensors: 11, bytes: 10 * 1024 + 4096, rss: 1e8, collections: 3 });
  expect(capture.stacks.get(1)?.[0]).toEqual({ file: '/srv/app.js', line: 10, column: 5, function: 'handle' });
  const series = capture.series.get('1 cpu')!;
  expect(series.liveBytes.at(-1)).toBe(10 * 1024);
  expect(series.oldestBirthMs.at(-1)).toBe(100);
  expect(capture.tornBytes).toBe(0);
});

test('the portions in which bytes arrive make no difference', () => {
  const bytes = leakyCapture(5).end().build();
  const parser = new CaptureParser();
  for (let i = 0; i < bytes.length; i += 7) parser.feed(bytes.subarray(i, i + 7));
  expect(parser.capture).toEqual(parse(bytes));
});

test('a torn tail is left out and counted, wherever it is torn', () => {
  const whole = leakyCapture(3).build();
  const longer = leakyCapture(3).tick({ ms: 1000 }, []).build();
  for (let cut = whole.length + 1; cut < longer.length; cut++) {
    const capture = parse(longer.subarray(0, cut));
    expect(capture.ticks).toHaveLength(3);
    expect(capture.tornBytes).toBe(cut - whole.length);
    expect(capture.end).toBeUndefined();
  }
});

test('reading stops at a packet whose checksum is wrong', () => {
  const whole = leakyCapture(3).build();
  const longer = leakyCapture(3).tick({ ms: 1000 }, []).tick({ ms: 1250 }, []).build();
  longer[whole.length + 20]! ^= 1;
  const capture = parse(longer);
  expect(capture.ticks).toHaveLength(3);
  expect(capture.tornBytes).toBe(longer.length - whole.length);
});

test('packets of unknown type are skipped', () => {
  const capture = parse(new CaptureBuilder().packet(99, Buffer.from('later')).tick({ ms: 250 }).build());
  expect(capture.ticks).toHaveLength(1);
});

test('what is no capture is refused with a reason', () => {
  const write = (name: string, content: string | Buffer) => {
    fs.writeFileSync(path.join(folder, name), content);
    return path.join(folder, name);
  };
  const newer = leakyCapture(1).build();
  newer.writeUInt32LE(99, 8);
  expect(() => readCapture(write('text', 'hello, I am a text file'))).toThrow(/not a leak-audit capture/);
  expect(() => readCapture(write('empty', ''))).toThrow(/empty or cut off/);
  expect(() => readCapture(write('newer', newer))).toThrow(/newer leak-audit \(format 99/);
  expect(() => readCapture(folder)).toThrow(/cannot be read \(EISDIR\)/);
  expect(() => readCapture(path.join(folder, 'missing'))).toThrow(UsageError);
});

test('a growing file is followed from before it exists', () => {
  const file = path.join(folder, 'growing');
  const follower = new CaptureFollower(file);
  expect(follower.poll()).toBe(false);
  const bytes = leakyCapture(4).build();
  fs.writeFileSync(file, bytes.subarray(0, bytes.length - 10));
  expect(follower.poll()).toBe(true);
  expect(follower.capture.ticks).toHaveLength(3);
  fs.appendFileSync(file, bytes.subarray(bytes.length - 10));
  follower.poll();
  expect(follower.capture.ticks).toHaveLength(4);
  expect(follower.capture.tornBytes).toBe(0);
  follower.close();
});
