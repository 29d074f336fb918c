/** Passes of a DataLoader that a program ends, or asks, in unusual ways. */
import { torch } from '../support/torch';

const { DataLoader } = torch.utils.data;

test('a call of next between others that wait keeps its turn', async () => {
  const reads: (() => void)[] = [];
  const getItem = (index: number) => new Promise<number>((resolve) => reads.push(() => resolve(index)));
  const pass = new DataLoader({ length: 4, getItem }, { collateFn: ([sample]) => sample })[Symbol.asyncIterator]();
  const steps = [pass.next(), pass.next(), pass.next()];
  reads[0]!();
  await steps[0];
  steps.push(pass.next(), pass.next());
  for (let read = 1; read < 4; read++) {
    while (reads.length <= read) await new Promise(setImmediate);
    reads[read]!();
  }
  expect((await Promise.all(steps)).map(({ value }) => value)).toEqual([0, 1, 2, 3, undefined]);
});

test('the error of a batch is reported, not that of the end of its dataset', async () => {
  const dataset = {
    *[Symbol.iterator]() {
      try {
        for (;;) yield 1;
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: what the test is about
        throw new Error('at the end');
      }
    },
  };
  const collateFn = () => {
    throw new Error('in the batch');
  };
  const loader = new DataLoader(dataset, { collateFn });
  expect(() => [...loader]).toThrow('in the batch');
  await expect(loader[Symbol.asyncIterator]().next()).rejects.toThrow('in the batch');
  expect(() => {
    for (const _ of new DataLoader(dataset)) break;
  }).toThrow('at the end');
});
