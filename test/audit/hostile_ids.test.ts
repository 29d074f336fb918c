/** Ids of a capture that somebody chose so that they collide: they cost no more than others. */
import { analyse } from '../../cli/analysis';
import { fileHeader, PacketType, packet } from '../../cli/capture/format';
import { IdMap } from '../../cli/capture/id_map';
import { CaptureParser } from '../../cli/capture/reader';
import { CaptureBuilder } from './capture_builder';

const u32s = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const site = (id: number) => packet(PacketType.Site, Buffer.concat([u32s(id, 0, id), Buffer.from('[]')]));

/** Non-negative 32-bit integers whose hash in V8, which has no seed for numbers, ends in 16 zeros. */
function collidingNumbers(count: number): number[] {
  const unshift = (value: number, by: number) => {
    let x = value;
    for (let i = by; i < 32; i += by) x = value ^ (x >>> by);
    return x;
  };
  const inverse = (odd: number) => {
    let x = odd;
    for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(odd, x));
    return x;
  };
  const [by2057, by5, by32767] = [2057, 5, 32767].map(inverse) as [number, number, number];
  const found: number[] = [];
  for (let high = 0; found.length < count; high++) {
    let x = unshift(high << 16, 16);
    x = unshift(Math.imul(x, by2057), 4);
    x = unshift(Math.imul(x, by5), 12);
    x = Math.imul(x + 1, by32767);
    if (x >= 0) found.push(x);
  }
  return found;
}

/** Of the file, before its first packet. */
const HEADER = fileHeader().length;

/** Seconds of the processor's, so that other processes do not count: a whole capture in which all that has ids has these. */
function readingTakes(ids: readonly number[]): number {
  const rows = ids.map((id) => ({ site: id, label: id, liveTensors: 1, liveBytes: 4 }));
  const rounds = new CaptureBuilder().tick({ ms: 1 }, rows).tick({ ms: 2 }, rows).build();
  const defined = ids.flatMap((id) => [
    site(id),
    packet(PacketType.Label, Buffer.concat([u32s(id), Buffer.from('{}')])),
    packet(PacketType.Shape, u32s(id)),
    packet(PacketType.EnvironmentEnd, u32s(id, 0, 0)),
  ]);
  const child = [packet(PacketType.Process, Buffer.from('{}')), new CaptureBuilder().build().subarray(HEADER)];
  const bytes = Buffer.concat([rounds, ...defined, ...child]);
  const before = process.cpuUsage();
  const parser = new CaptureParser();
  parser.feed(bytes);
  const capture = parser.finish();
  analyse(capture);
  const { user, system } = process.cpuUsage(before);
  const sizes = [capture.stacks, capture.environments, capture.labels, capture.ended, capture.series];
  expect(sizes.map(({ size }) => size)).toEqual(sizes.map(() => ids.length));
  return (user + system) / 1e6;
}

test('ids of sites, labels, shapes and threads that are chosen to collide cost no more than others', () => {
  const chosen = collidingNumbers(24_000);
  const others = chosen.map((_, i) => i + 1);
  readingTakes(others); // compiles
  expect(readingTakes(chosen)).toBeLessThan(5 * readingTakes(others) + 0.5);
});

test.each([0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 48 + 5, 2 ** 53 - 1])('the id %d is kept', (id) => {
  const map = new IdMap<string>();
  for (const other of [id === 0 ? 1 : id - 1, 7, 2 ** 40 + 7]) map.set(other, 'other');
  map.set(id, 'this');
  expect([map.get(id), map.has(id), map.has(12_345)]).toEqual(['this', true, false]);
  expect([...map].at(-1)).toEqual([id, 'this']);
  expect([...map.keys()].at(-1)).toBe(id);
});
