/** When the young objects are collected, and the freed blocks that wait for the next tensors. No timings of the machine. */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB } from '../support/torch';

const { YoungBytes, MIN_YOUNG_BYTES, MAX_YOUNG_BYTES } = require(path.join(LIB, 'memory/young.js'));
const MIB = 2 ** 20;

/** The bytes after `times` scavenges, each after `young.bytes` of garbage of which `freed` is freed. */
function after(
  young: any,
  times: number,
  costOf: (bytes: number) => { elapsed: number; cost: number },
  freed = 1,
): number {
  for (let i = 0; i < times; i++) {
    young.add({ ...costOf(young.bytes), grown: young.bytes, freed: freed * young.bytes });
  }
  return young.bytes;
}

test('cheap scavenges come often, expensive ones rarely', () => {
  const young = new YoungBytes();
  expect(after(young, 100, (bytes) => ({ elapsed: bytes, cost: MIB / 10 }))).toBe(MIN_YOUNG_BYTES);
  expect(after(young, 100, (bytes) => ({ elapsed: bytes, cost: 100 * MIB }))).toBe(MAX_YOUNG_BYTES);
  expect(after(young, 100, (bytes) => ({ elapsed: bytes, cost: MIB / 10 }))).toBe(MIN_YOUNG_BYTES);
});

test('for any fixed cost it settles, and stays', () => {
  for (let cost = MIB / 64; cost <= 64 * MIB; cost *= 1.1) {
    const young = new YoungBytes();
    const settled = after(young, 64, (bytes) => ({ elapsed: bytes, cost }));
    for (let i = 0; i < 64; i++) expect(after(young, 1, (bytes) => ({ elapsed: bytes, cost }))).toBe(settled);
  }
});

test('one slow scavenge among cheap ones does not decide', () => {
  const young = new YoungBytes();
  after(young, 64, (bytes) => ({ elapsed: bytes, cost: MIB / 2 }));
  const before = young.bytes;
  let times = 0;
  expect(after(young, 64, (bytes) => ({ elapsed: bytes, cost: times++ === 30 ? 2 * MIB : MIB / 2 }))).toBe(before);
});

test('if most bytes stay in use, scavenges become rare', () => {
  const young = new YoungBytes();
  expect(after(young, 100, (bytes) => ({ elapsed: bytes, cost: MIB / 10 }), 0.2)).toBe(MAX_YOUNG_BYTES);
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
