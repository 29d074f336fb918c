/** The memory of programs that do not dispose tensors. In child processes; bytes, never times. */
import { ask } from '../support/child';
import { expectResident, rounds } from '../support/sanitized';

test('4,000 × 1 MiB in a synchronous loop, nothing disposed: under 400 MB', async () => {
  const { peak, alive, all } = await ask(`
    let alive = 0;
    for (let i = 0; i < 4000; i++) torch.zeros([1 << 18]);
    answer({ peak: peakMB(), alive: torch.memory().tensors, all: torch.memory().allocatedBytes });
  `);
  expectResident(peak).toBeLessThan(400);
  expect(alive).toBeLessThan(200);
  expect(all).toBeLessThan(200 * 2 ** 20);
});

test('1,000,000 one-element adds without dispose: RSS grows by less than 100 MB', async () => {
  const { grown } = await ask(`
    const a = torch.ones([1]), b = torch.ones([1]);
    for (let i = 0; i < 1000; i++) a.add(b);
    const before = rssMB();
    let peak = before;
    for (let i = 0; i < ${rounds(1e6)}; i++) {
      a.add(b);
      if (i % 50000 === 0) peak = Math.max(peak, rssMB());
    }
    answer({ grown: Math.max(peak, rssMB()) - before });
  `);
  expectResident(grown).toBeLessThan(100);
});

test('1,000,000 one-element adds in a scope each: RSS grows by less than 20 MB', async () => {
  const { grown, left } = await ask(`
    const a = torch.ones([1]), b = torch.ones([1]);
    for (let i = 0; i < 1000; i++) torch.scope(() => { a.add(b); });
    const before = rssMB();
    const held = counts().tensors;
    for (let i = 0; i < ${rounds(1e6)}; i++) torch.scope(() => { a.add(b); });
    answer({ grown: rssMB() - before, left: counts().tensors - held });
  `);
  expectResident(grown).toBeLessThan(20);
  expect(left).toBe(0);
});

test('1,000,000 disposed adds leak nothing', async () => {
  const { grown, left } = await ask(`
    const a = torch.ones([1]);
    const before = rssMB();
    const held = counts();
    for (let i = 0; i < ${rounds(1e6)}; i++) a.add(a).dispose();
    answer({ grown: rssMB() - before, left: [counts(), held] });
  `);
  expectResident(grown).toBeLessThan(40);
  expect(left[0]).toEqual(left[1]);
});

test('the collector frees all garbage: counts return to those of the live tensors', async () => {
  const { before, after, told } = await ask(
    `
    const kept = torch.ones([10]);
    const before = counts();
    for (let i = 0; i < 2000; i++) kept.add(1).view([5, 2]).t();
    (async () => {
      // V8's compiler runs concurrently and may hold some garbage while it compiles this.
      while (counts().tensors > before.tensors) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
      answer({ before, after: counts(), told: kept.numel });
    })();
  `,
    ['--expose-gc'],
  );
  expect(after).toEqual(before);
  expect(told).toBe(10);
});

test('process.memoryUsage().external follows the bytes within 1 MiB', async () => {
  const { steps } = await ask(
    `
    const steps = [];
    gc();
    const start = process.memoryUsage().external;
    const held = [];
    const step = () => steps.push([process.memoryUsage().external - start, torch.memory().bytes]);
    for (let i = 0; i < 20; i++) { held.push(torch.zeros([1 << 20])); step(); }
    for (let i = 0; i < 1000; i++) held.push(torch.zeros([100]));
    step();
    held[0].resize_([1 << 21]); step();
    held[1].resize_([10]); step();
    while (held.length > 5) held.pop().dispose();
    step();
    torch.scope(() => { for (let i = 0; i < 10; i++) torch.zeros([1 << 20]); step(); });
    step();
    torch.disposeAll(held); step();
    answer({ steps });
  `,
    ['--expose-gc'],
  );
  expect(steps.length).toBe(27);
  for (const [external, bytes] of steps) expect(Math.abs(external - bytes)).toBeLessThan(2 ** 20);
});
