/** When the young objects are collected, and the freed blocks that wait for the next tensors. No timings of the machine. */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB } from '../support/torch';

const { YoungBytes, MIN_YOUNG_BYTES, MAX_YOUNG_BYTES } = require(path.join(LIB, 'memory/young.js'));
const MIB = 2 ** 20;

interface Model {
  /** What the ops between two scavenges take, and what the scavenge takes. */
  of(bytes: number): { elapsed: number; cost: number };
  /** The share of the bytes that a scavenge frees. */
  freed?: number;
}

/** Runs `times` scavenges, each after `young.bytes` of garbage. @returns how often each number of MiB was used in the second half */
function uses(young: any, times: number, { of, freed = 1 }: Model): Map<number, number> {
  const found = new Map<number, number>();
  for (let i = 0; i < times; i++) {
    const { bytes } = young;
    if (i >= times / 2) found.set(bytes / MIB, (found.get(bytes / MIB) ?? 0) + 1);
    young.add({ ...of(bytes), grown: bytes, freed: freed * bytes });
  }
  return found;
}

/** What was used in most scavenges of the second half, in MiB. */
const mostly = (found: Map<number, number>) => [...found].sort((a, b) => b[1] - a[1])[0]![0];

const cheap: Model = { of: (bytes) => ({ elapsed: bytes, cost: MIB / 20 }) };
const expensive: Model = { of: (bytes) => ({ elapsed: bytes, cost: 100 * MIB }) };
const [LEAST, MOST] = [MIN_YOUNG_BYTES / MIB, MAX_YOUNG_BYTES / MIB];

test('cheap scavenges come often, expensive ones rarely', () => {
  const young = new YoungBytes();
  expect(mostly(uses(young, 400, cheap))).toBe(LEAST);
  expect(mostly(uses(young, 400, expensive))).toBe(MOST);
  expect(mostly(uses(young, 400, cheap))).toBe(LEAST);
});

test.each([LEAST, 2 * LEAST, 4 * LEAST])('ops that take longer above %d MiB keep it there', (fits) => {
  const cached: Model = { of: (bytes) => ({ elapsed: bytes * (bytes <= fits * MIB ? 1 : 1.6), cost: MIB / 2 }) };
  const found = uses(new YoungBytes(), 4_000, cached);
  expect(mostly(found)).toBe(fits);
  // Trials become rare.
  expect(found.get(fits)!).toBeGreaterThan(0.9 * 2_000);
});

test('a larger number that is faster, but whose scavenges cost next to nothing, is not tried again and again', () => {
  const young = new YoungBytes();
  const model: Model = {
    of: (bytes) => ({ elapsed: bytes * (1 - 0.03 * Math.log2(bytes / MIN_YOUNG_BYTES)), cost: MIB / 5 }),
  };
  const found = uses(young, 8_000, model);
  expect(found.get(mostly(found))!).toBeGreaterThan(0.9 * 4_000);
});

test('it follows a program whose ops change', () => {
  const young = new YoungBytes();
  const fits = (mib: number): Model => ({
    of: (bytes) => ({ elapsed: bytes * (bytes <= mib * MIB ? 1 : 1.6), cost: MIB / 2 }),
  });
  for (const mib of [LEAST, 4 * LEAST, LEAST]) expect(mostly(uses(young, 4_000, fits(mib)))).toBe(mib);
});

test('after long steady work it follows soon: other ops take another time per byte', () => {
  const young = new YoungBytes();
  uses(young, 8_000, { of: (bytes) => ({ elapsed: bytes * (bytes <= MIN_YOUNG_BYTES ? 1 : 1.6), cost: MIB / 2 }) });
  expect(mostly(uses(young, 240, { of: (bytes) => ({ elapsed: 3 * bytes, cost: 4 * MIB }) }))).toBeGreaterThan(LEAST);
});

test('one slow scavenge in a window does not decide', () => {
  let times = 0;
  const slow: Model = { of: (bytes) => ({ elapsed: bytes, cost: times++ % 8 === 3 ? 50 * MIB : MIB / 20 }) };
  expect(mostly(uses(new YoungBytes(), 1_000, slow))).toBe(LEAST);
});

test('if most bytes stay in use, scavenges become rare', () => {
  expect(mostly(uses(new YoungBytes(), 100, { ...cheap, freed: 0.2 }))).toBe(MOST);
});

test('scavenges of many small tensors, which come by their number, do not change it', () => {
  const young = new YoungBytes();
  for (let i = 0; i < 1_000; i++) young.add({ elapsed: 1, cost: 100, grown: 1000, freed: 1000 });
  expect(young.bytes).toBe(MIN_YOUNG_BYTES);
});

test.each([1, 16, 64, 256, 512, 1024, 2048])('garbage of squares of %d float32 stays below the limit', async (size) => {
  const { most, bytes } = await ask(`
    const a = torch.ones([${size}, ${size}]);
    const bytes = a.storageBytes;
    let most = 0;
    for (let i = 0; i < Math.max(200, Math.min(20000, 1e9 / bytes)); i++) {
      a.add(a);
      most = Math.max(most, torch.memory().allocatedBytes);
    }
    answer({ most, bytes });
  `);
  // The limit, what one scavenge did not reach, the request that is on its way, and the operand.
  expect(most).toBeLessThanOrEqual(2 * MAX_YOUNG_BYTES + MIN_YOUNG_BYTES + 4 * bytes);
});

test('a mix of sizes, and tensors that are kept, stay below the limit too', async () => {
  const { most, kept } = await ask(`
    const sizes = [1, 1000, 70000, 300000, 2500000];
    const held = [];
    let kept = 0, most = 0;
    for (let i = 0; i < 2000; i++) {
      const t = torch.zeros([sizes[(i * 7) % 5]]);
      if (i % 49 === 0) { held.push(t); kept += t.storageBytes; }
      most = Math.max(most, torch.memory().allocatedBytes - kept);
    }
    answer({ most, kept });
  `);
  expect(most).toBeLessThanOrEqual(2 * MAX_YOUNG_BYTES + MIN_YOUNG_BYTES + 4 * 10_000_000);
  expect(kept).toBeGreaterThan(MAX_YOUNG_BYTES);
});

test('freed blocks are counted, bounded, and used again', async () => {
  const { empty, one, again, most, figures } = await ask(`
    const cached = () => torch.memory().cachedBytes;
    const warm = torch.empty([1]); warm.dispose();
    const empty = cached();
    torch.empty([100_000]).dispose();
    const one = cached();
    const t = torch.empty([100_000]);
    const again = cached();
    t.dispose();
    let most = 0;
    for (let i = 0; i < 300; i++) {
      torch.scope(() => { for (let j = 1; j < 20; j++) torch.empty([j * 40_000 + i * 64]); });
      most = Math.max(most, cached());
    }
    answer({ empty, one, again, most, figures: Object.keys(torch.memory()) });
  `);
  expect(figures).toContain('cachedBytes');
  expect(most).toBeLessThanOrEqual(25 * MIB);
  if (one === 0) return; // a build with a sanitizer keeps no blocks
  expect(one - empty).toBeGreaterThanOrEqual(400_000);
  expect(one - empty).toBeLessThanOrEqual(450_000);
  expect(again).toBe(empty);
  expect(most).toBeGreaterThan(8 * MIB);
});

test('the blocks of a worker end with it', async () => {
  const { before, inside, left } = await ask(`
    const { Worker } = require('worker_threads');
    const work = (library) => {
      const torch = require(library);
      for (let i = 1; i < 20; i++) torch.empty([i * 40_000]).dispose();
      require('worker_threads').parentPort.postMessage(torch.memory().cachedBytes);
    };
    const library = ${JSON.stringify(path.join(LIB, 'index.js'))};
    const before = torch.memory().cachedBytes;
    const worker = new Worker('(' + work + ')(' + JSON.stringify(library) + ')', { eval: true });
    let inside = 0;
    worker.on('message', (bytes) => { inside = bytes; });
    worker.on('exit', () => answer({ before, inside, left: torch.memory().cachedBytes }));
  `);
  expect(left).toBe(before);
  expect(inside).toBeGreaterThanOrEqual(before);
});
