/** When results of a strand are taken: once their batch has ended, before the next one begins, and without waiting for more. */
import { LIB, torch, untyped } from '../support/torch';

const { native } = require(`${LIB}/addon/native.js`);

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('results are not taken while a batch of their strand is running', async () => {
  const { strandSubmit, strandMail, strandTake } = native;
  const flying = new Set<number>();
  let taken = 0;
  const early: number[] = [];
  native.strandSubmit = (id: number, wanted: unknown) => {
    const writes = strandSubmit(id, wanted);
    flying.add(id);
    return writes;
  };
  native.strandMail = () => {
    const ended = strandMail();
    for (const id of ended) flying.delete(id);
    return ended;
  };
  native.strandTake = (id: number, step: number) => {
    taken++;
    if (flying.has(id)) early.push(step);
    return strandTake(id, step);
  };
  try {
    await torch.scope(async () => {
      const a = torch.ones([4]);
      const sums = await untyped.run(async (t: any) => {
        // Each continues, and sends a batch, as soon as its own result has arrived.
        const loop = async (n: number) => {
          let last = t.add(a, n);
          for (let i = 0; i < 20; i++) {
            const there = await last;
            (last as any).add_(1);
            last = t.add(there, 0);
            if (i % 3 === n % 3) await turn();
          }
          return (await t.sum(last)).item();
        };
        return Promise.all([0, 1, 2, 3].map(loop));
      });
      expect(sums).toHaveLength(4);
    });
  } finally {
    Object.assign(native, { strandSubmit, strandMail, strandTake });
  }
  expect(taken).toBeGreaterThan(80);
  expect(early).toEqual([]);
});

it('a result does not wait for ops that others record meanwhile', async () => {
  await torch.scope(async () => {
    const a = torch.ones([4]);
    await untyped.run(async (t: any) => {
      let turns = 0;
      let enough = false;
      // An op is recorded whenever a batch ends, until the result has arrived.
      const busy = (async () => {
        while (!enough && turns++ < 100_000) {
          t.neg(a);
          await turn();
        }
      })();
      await turn();
      expect((await t.add(a, 1)).toArray()).toEqual([2, 2, 2, 2]);
      enough = true;
      await busy;
      expect(turns).toBeLessThan(100_000);
    });
  });
});

it('ops recorded while the last batch is running run too', async () => {
  await torch.scope(async () => {
    const [a, late] = [torch.ones([4]), torch.ones([4])];
    let recorded = false;
    await untyped.run((t: any) => {
      const result = t.add(a, 1);
      queueMicrotask(() => {
        t.ops.aten.neg_.default(late);
        recorded = true;
      });
      return result;
    });
    expect(recorded).toBe(true);
    expect(late.toArray()).toEqual([-1, -1, -1, -1]);
  });
});
