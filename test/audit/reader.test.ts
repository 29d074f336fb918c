import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { Flag, fileHeader } from '../../cli/capture/format';
import { LiveTensors } from '../../cli/capture/live-tensors';
import { CaptureFollower, CaptureParser, readCapture } from '../../cli/capture/reader';
import { UsageError } from '../../cli/errors/errors';
import { CaptureBuilder, leakyCapture } from './capture-builder';

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

test('a complete capture gives start, sites, rounds and end', () => {
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

test('chunk boundaries do not matter', () => {
  const bytes = leakyCapture(5).end().build();
  const parser = new CaptureParser();
  for (let i = 0; i < bytes.length; i += 7) parser.feed(bytes.subarray(i, i + 7));
  expect(parser.capture).toEqual(parse(bytes));
});

test('a torn tail is skipped and counted, wherever it is torn', () => {
  const whole = leakyCapture(3).build();
  const longer = leakyCapture(3).tick({ ms: 1000 }, []).build();
  for (let cut = whole.length + 1; cut < longer.length; cut++) {
    const capture = parse(longer.subarray(0, cut));
    expect(capture.ticks).toHaveLength(3);
    expect(capture.tornBytes).toBe(cut - whole.length);
    expect(capture.end).toBeUndefined();
  }
});

test('a packet with a wrong checksum is skipped and counts as lost', () => {
  const whole = leakyCapture(3).build();
  const longer = leakyCapture(3).tick({ ms: 1000 }, []).tick({ ms: 1250 }, []).build();
  longer[whole.length + 40]! ^= 1; // in the payload of the round at 1000 ms
  const capture = parse(longer);
  expect(capture.ticks.map((tick) => tick.ms)).toEqual([250, 500, 750, 1250]);
  expect(capture.damagedPackets).toBe(1);
  expect(capture.lost).toBe(1);
  expect(capture.tornBytes).toBe(0);
});

test('the next complete packet after a damaged length is found', () => {
  const whole = leakyCapture(3).build();
  const longer = leakyCapture(3).tick({ ms: 1000 }, []).tick({ ms: 1250 }, []).build();
  longer[whole.length + 5]! ^= 0xff; // its length: the checksum of the packet's header is wrong
  for (const portion of [1, 7, 1 << 20]) {
    const parser = new CaptureParser();
    for (let i = 0; i < longer.length; i += portion) parser.feed(longer.subarray(i, i + portion));
    expect(parser.capture.ticks.map((tick) => tick.ms)).toEqual([250, 500, 750, 1250]);
    expect(parser.capture.lost).toBe(1);
  }
});

test('trailing zeros, as after a power failure, are a torn tail; other bytes are damage', () => {
  const whole = leakyCapture(3).build();
  const zeros = parse(Buffer.concat([whole, Buffer.alloc(5000)]));
  expect(zeros).toMatchObject({ tornBytes: 5000, lost: 0 });
  const noise = parse(Buffer.concat([whole, Buffer.alloc(5000, 'x')]));
  expect(noise).toMatchObject({ lost: 1 });
  expect(noise.ticks).toHaveLength(3);
});

test('a flag in the header marks missing events', () => {
  expect(parse(new CaptureBuilder({}, Flag.lost).tick({ ms: 1 }).build()).lost).toBe(1);
  expect(parse(new CaptureBuilder({}, Flag.capped).tick({ ms: 1 }).build())).toMatchObject({ lost: 0, capped: true });
});

test('rows count once the packet of their round has arrived', () => {
  const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]);
  builder.rows([{ site: 1, liveTensors: 5, liveBytes: 50 }]);
  expect(parse(builder.build()).series.size).toBe(0);
  builder.rows([{ site: 1, liveTensors: 7, liveBytes: 70 }]).tick({ ms: 10 });
  expect(parse(builder.build()).series.get('1 cpu')).toMatchObject({ ticks: [0], liveTensors: [7] });
});

test('live tensors are those with a birth and without a death, with shape, label and weight', () => {
  const builder = new CaptureBuilder()
    .site(1, ['/a.js', 1, 1])
    .shape(4, [2, 3])
    .label(9, { route: '/classify' })
    .births({ id: 11, site: 1, shape: 4, label: 9, bytes: 24, birthMs: 5, weight: 2.5 }, { id: 12, site: 1 })
    .tick({ ms: 10 })
    .deaths(12, 99)
    .births({ id: 13, site: 1, birthMs: 15 })
    .tick({ ms: 20 });
  const capture = parse(builder.build());
  expect([...capture.liveTensors()]).toEqual([
    expect.objectContaining({ siteId: 1, labelId: 9, shape: [2, 3], bytes: 24, birthMs: 5, weight: 2.5 }),
    expect.objectContaining({ siteId: 1, labelId: 0, shape: undefined, dtype: 'float32', device: 'cpu', birthMs: 15 }),
  ]);
  expect(capture.labels.get(9)).toEqual({ route: '/classify' });
});

test('dtypes have the names that the capture gives them; older captures, those that this version knows', () => {
  const dtypes = (start: object, numbers: number[]) => {
    const builder = new CaptureBuilder(start).births(...numbers.map((dtype, i) => ({ id: i + 1, site: 1, dtype })));
    return [...parse(builder.tick({ ms: 10 }).build()).liveTensors()].map(({ dtype }) => dtype);
  };
  expect(dtypes({}, [6, 23, 24, 27, 28, 29, 99])).toEqual([
    ...['float32', 'float8_e5m2', 'float8_e4m3fn', 'uint16', 'uint32', 'uint64', 'dtype99'],
  ]);
  const names = Array.from({ length: 100 }, (_, i) => `name${i}`);
  expect(dtypes({ dtypes: names }, [6, 27, 99, 101])).toEqual(['name6', 'name27', 'name99', 'dtype101']);
  expect(() => dtypes({ dtypes: ['x'.repeat(65)] }, [0])).toThrow(/start\.dtypes\[0\]: expected at most 64 characters/);
  expect(() => dtypes({ dtypes: 'float32' }, [0])).toThrow(/start\.dtypes: expected a list, got "float32"/);
});

test('series of different labels are separate', () => {
  const capture = parse(
    new CaptureBuilder()
      .tick({ ms: 10 }, [
        { site: 1, liveTensors: 1, liveBytes: 10 },
        { site: 1, liveTensors: 2, liveBytes: 20, label: 3 },
      ])
      .build(),
  );
  expect(capture.series.get('1 cpu')).toMatchObject({ labelId: 0, liveTensors: [1] });
  expect(capture.series.get('1 cpu 3')).toMatchObject({ labelId: 3, liveTensors: [2] });
});

test('any ids in any order: the set of live tensors agrees with a Map', () => {
  const seed = Number(process.env.LIBTORCH_NODE_SEED ?? Date.now() % 1e9);
  console.log(`seed ${seed}`);
  let state = seed;
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % n;
  };
  const model = new Map<number, number>();
  const live = new LiveTensors();
  const birth = Buffer.alloc(48);
  for (let step = 0; step < 60_000; step++) {
    const id = Math.imul(random(5000), 0x10001) >>> 0;
    if (random(3) > 0) {
      birth.writeUInt32LE(id, 0);
      birth.writeUInt32LE(step, 4);
      live.add(birth, 0);
      model.set(id, step);
    } else {
      live.delete(id);
      model.delete(id);
    }
  }
  const found = Array.from({ length: live.size }, (_, row) => live.at(row));
  expect(new Map(found.map((one) => [one.id, one.siteId]))).toEqual(model);
  expect(found).toHaveLength(model.size);
});

test('kinds of freed tensors are dropped, those of live ones stay unchanged', () => {
  const live = new LiveTensors();
  const birth = Buffer.alloc(48);
  const born = (id: number) => {
    birth.writeUInt32LE(id, 0);
    birth.writeUInt32LE(id % 7, 4);
    birth.writeDoubleLE(0, 24);
    birth.writeUInt32LE(3 * id, 24); // each with a different size
    birth.writeInt32LE(-id, 16);
    birth.writeInt32LE(-1, 20);
    live.add(birth, 0);
  };
  for (let id = 1; id <= 300_000; id++) {
    born(id);
    if (id > 1000) live.delete(id - 1000);
  }
  const found = Array.from({ length: live.size }, (_, row) => live.at(row)).sort((a, b) => a.id - b.id);
  expect(found.map(({ id, siteId, bytes, birthMs }) => [id, siteId, bytes, birthMs])).toEqual(
    Array.from({ length: 1000 }, (_, i) => 299_001 + i).map((id) => [id, id % 7, 3 * id, -id]),
  );
});

test('the memory for crafted files is bounded by their size', () => {
  // Repeated packet headers with a length beyond the data; and packets within packets.
  const promise = new CaptureBuilder().packet(99, Buffer.alloc(16)).build().subarray(-36, -16);
  promise.writeUInt32LE(16 * 1024 * 1024, 4);
  promise.writeUInt32LE(crc32(promise.subarray(0, 12)), 12);
  const many = Buffer.concat([new CaptureBuilder().build(), ...Array.from({ length: 200_000 }, () => promise)]);
  expect(parse(many).damagedPackets + parse(many).tornBytes).toBeGreaterThan(0);
  const syncs = Buffer.concat([new CaptureBuilder().build(), Buffer.alloc(4_000_000, promise.subarray(0, 4))]);
  expect(parse(syncs).lost).toBe(1);
});

test('packets of unknown type are skipped', () => {
  const capture = parse(new CaptureBuilder().packet(99, Buffer.from('later')).tick({ ms: 250 }).build());
  expect(capture.ticks).toHaveLength(1);
});

test('files that are not captures are refused with a reason', () => {
  const write = (name: string, content: string | Buffer) => {
    fs.writeFileSync(path.join(folder, name), content);
    return path.join(folder, name);
  };
  const newer = leakyCapture(1).build();
  newer.writeUInt32LE(99, 8);
  expect(() => readCapture(write('text', 'hello, I am a text file'))).toThrow(/not a leak-audit capture/);
  expect(() => readCapture(write('empty', ''))).toThrow(/empty or truncated/);
  expect(() => readCapture(write('newer', newer))).toThrow(/newer leak-audit \(format 99/);
  const older = leakyCapture(1).build();
  older.writeUInt32LE(1, 8);
  expect(() => readCapture(write('older', older))).toThrow(/older leak-audit \(format 1, this version reads 2\)/);
  const noStack = new CaptureBuilder().packet(2, Buffer.from('123456789012{}')).build();
  expect(() => readCapture(write('crafted', noStack))).toThrow(/damaged \(site: expected a list, got \{\}\)/);
  expect(() => readCapture(folder)).toThrow(/expected a capture, got a folder/);
  expect(() => readCapture(path.join(folder, 'missing'))).toThrow(UsageError);
});

test('a growing file is followed, also if it does not exist yet', () => {
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

test('a followed file that is truncated or replaced is read anew', () => {
  const file = path.join(folder, 'changing');
  const follower = new CaptureFollower(file);
  const bytes = leakyCapture(4).build();
  const before = leakyCapture(3).build();
  fs.writeFileSync(file, bytes.subarray(0, bytes.length - 10));
  follower.poll();
  fs.truncateSync(file, before.length); // a failed write is truncated; another one replaces it
  fs.appendFileSync(file, new CaptureBuilder().tick({ ms: 999 }).build().subarray(new CaptureBuilder().build().length));
  follower.poll();
  expect(follower.capture.ticks.map((tick) => tick.ms)).toEqual([250, 500, 750, 999]);
  fs.writeFileSync(`${file}.new`, leakyCapture(2).build());
  fs.renameSync(`${file}.new`, file);
  follower.poll();
  expect(follower.capture.ticks).toHaveLength(2);
  expect(follower.capture.lost).toBe(0);
  follower.close();
});

test('an unclaimed file is a program without tensors', () => {
  const file = path.join(folder, 'reserved');
  fs.writeFileSync(file, fileHeader(Flag.reserved));
  expect(readCapture(file).start).toBeUndefined();
  fs.writeFileSync(file, fileHeader(Flag.lost)); // claimed, but without space for more
  expect(readCapture(file).lost).toBe(1);
  fs.writeFileSync(file, fileHeader(0));
  expect(() => readCapture(file)).toThrow(/empty or truncated/);
});
