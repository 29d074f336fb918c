/** Ids of a capture that are chosen to collide do not cost more than others. */
import { analyse } from '../../cli/analysis/analyse';
import { fileHeader, PacketType, packet } from '../../cli/capture/format';
import { IdMap } from '../../cli/capture/id-map';
import { CaptureParser } from '../../cli/capture/reader';
import { CaptureBuilder } from './capture-builder';

const u32s = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const site = (id: number) => packet(PacketType.Site, Buffer.concat([u32s(id, 0, id), Buffer.from('[]')]));

/** Non-negative 32-bit integers whose hash in V8, which is not seeded for numbers, ends in 16 zeros. */
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

/** The file header, before the first packet. */
const HEADER = fileHeader(0).length;

/** V8's unseeded hash of such an integer. */
function hashOf(key: number): number {
  let x = Math.imul(key, 32767) - 1;
  x = Math.imul(x ^ (x >>> 12), 5);
  x = Math.imul(x ^ (x >>> 4), 2057);
  return (x ^ (x >>> 16)) & 0xffff;
}

const spread = (keys: Iterable<number>) => new Set(Array.from(keys, hashOf)).size;

test('ids that are chosen to collide do not collide in a map', () => {
  const chosen = collidingNumbers(24_000);
  expect(spread(chosen)).toBe(1);
  const map = new IdMap<number>();
  for (const id of chosen) map.set(id, id);
  expect(map.size).toBe(chosen.length);
  // About 20,000 of 65,536 for ordinary ids.
  const { map: inside } = map as unknown as { map: Map<number, number> };
  expect(spread(inside.keys())).toBeGreaterThan(10_000);
});

test('ids of sites, labels, shapes and threads are in collision-resistant maps', () => {
  const ids = collidingNumbers(1000);
  const rows = ids.map((id) => ({ site: id, label: id, liveTensors: 1, liveBytes: 4 }));
  const rounds = new CaptureBuilder().tick({ ms: 1 }, rows).tick({ ms: 2 }, rows).build();
  const defined = ids.flatMap((id) => [
    site(id),
    packet(PacketType.Label, Buffer.concat([u32s(id), Buffer.from('{}')])),
    packet(PacketType.Shape, u32s(id)),
    packet(PacketType.EnvironmentEnd, u32s(id, 0, 0)),
  ]);
  const child = [packet(PacketType.Process, Buffer.from('{}')), new CaptureBuilder().build().subarray(HEADER)];
  const parser = new CaptureParser();
  parser.feed(Buffer.concat([rounds, ...defined, ...child]));
  const capture = parser.finish();
  analyse(capture, {});
  const maps = [capture.stacks, capture.environments, capture.labels, capture.ended];
  expect(maps.map((map) => [map instanceof IdMap, map.size])).toEqual(maps.map(() => [true, ids.length]));
  expect(capture.series.size).toBe(ids.length);
});

test.each([0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 48 + 5, 2 ** 53 - 1])('the id %d is kept', (id) => {
  const map = new IdMap<string>();
  for (const other of [id === 0 ? 1 : id - 1, 7, 2 ** 40 + 7]) map.set(other, 'other');
  map.set(id, 'this');
  expect([map.get(id), map.has(id), map.has(12_345)]).toEqual(['this', true, false]);
  expect([...map].at(-1)).toEqual([id, 'this']);
  expect([...map.keys()].at(-1)).toBe(id);
});
