/** 64 workers, 100 rounds each of create, compute, share and take, ending in every way: counts back to 0. */
import { ask } from '../support/child';
import { GC, WORKERS } from './prelude';

const WORKER = `
  const { token, seed, ending } = workerData;
  const base = torch.fromShared(token);
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const held = [];
  let sum = 0;
  for (let round = 0; round < 100; round++) {
    torch.scope(() => {
      const mine = torch.full([8, 8], round).add(base.sum());
      sum += mine.mm(mine.t()).sum().item() > 0 ? 1 : 0;
      const leaf = torch.ones([16], { requiresGrad: true });
      leaf.mul(2).sum().backward();
      if (random() < 0.2) parentPort.postMessage({ offer: mine.share() });
      if (random() < 0.2) parentPort.postMessage({ offer: leaf.share() });
      if (random() < 0.1) mine.share();
      if (random() < 0.1) torch.fromShared(mine.share()).sub(1);
    });
    if (random() < 0.3) held.push(torch.fromShared(token));
    if (random() < 0.3) held.push(torch.ones([100]).toSparse());
    if (random() < 0.2 && held.length > 0) held.pop().dispose();
    if (round === 50) {
      if (ending === 'exit') process.exit(3);
      if (ending === 'throw') throw new Error('as planned');
      if (ending === 'terminate') parentPort.postMessage({ terminate: true });
    }
  }
  parentPort.postMessage({ sum });
`;

test('64 workers create, compute, share and end', async () => {
  const { endings, sums, taken, before, after } = await ask(
    `${WORKERS}
    (async () => {
      const before = figures();
      const body = async () => {
        const endings = {}, sums = [];
        let taken = 0;
        const token = torch.scope(() => torch.ones([1 << 16]).share());
        await pool(64, 4, async (i) => {
          const ending = ['return', 'exit', 'throw', 'terminate'][i % 4];
          const worker = start(${JSON.stringify(WORKER)}, { workerData: { token, seed: i + 1, ending } });
          const kept = [];
          worker.on('message', ({ offer, terminate, sum }) => {
            if (terminate) worker.terminate();
            if (sum !== undefined) sums.push(sum);
            if (offer === undefined) return;
            taken++;
            // Some tokens are taken at once, some after the worker has ended, some never.
            if (taken % 3 === 0) torch.scope(() => { torch.fromShared(offer).detach().add(1).sum().item(); });
            if (taken % 3 === 1) kept.push(offer);
          });
          const { code, error } = await finish(worker);
          for (const offer of kept) torch.scope(() => torch.fromShared(offer).numel);
          const key = ending + ' ' + code + (error ? ' ' + error : '');
          endings[key] = (endings[key] ?? 0) + 1;
        });
        return { endings, sums, taken };
      };
      answer({ ...await body(), before, after: await settled(before) });
    })();
  `,
    GC,
  );
  expect(before).toEqual({ tensors: 0, storages: 0, bytes: 0, allocatedBytes: 0, tokens: 0 });
  expect(endings).toMatchObject({ 'return 0': 16, 'exit 3': 16, 'throw 1 as planned': 16 });
  expect(sums.filter((sum: number) => sum !== 100)).toEqual([]);
  expect(sums.length).toBeGreaterThanOrEqual(16);
  expect(taken).toBeGreaterThan(100);
  expect(after).toEqual(before);
}, 150_000);
