/** `using` and `await using` of loaders, their passes, and progress. */
import { readdirSync } from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { balancedAsync, counts, settled, torch } from '../support/torch';

const { DataLoader, TensorDataset } = torch.utils.data;

const threads = () => readdirSync('/proc/self/task').length;

test('await using of a loader ends its workers, also after an error', async () => {
  const rows = new TensorDataset(torch.arange(8));
  const broken = new Error('from the program');
  let most = 0;
  const block = async (fails: boolean) => {
    await using loader = new DataLoader(rows, { batchSize: 2, numWorkers: 2 });
    for await (const batch of loader) {
      most = Math.max(most, threads());
      torch.disposeAll(batch);
      if (fails) throw broken;
    }
  };
  await block(false); // Node's own threads start with the first worker
  const before = threads();
  expect(most).toBeGreaterThanOrEqual(before + 2);
  await block(false);
  expect(threads()).toBe(before);
  await expect(block(true)).rejects.toBe(broken);
  expect(threads()).toBe(before);
  torch.disposeAll(rows);
});

test('await using of a pass ends it: its generator is closed, and the next pass begins', async () => {
  await balancedAsync(async () => {
    let closed = 0;
    const stream = {
      async *[Symbol.asyncIterator]() {
        try {
          for (let i = 0; ; i++) yield i;
        } finally {
          closed++;
        }
      },
    };
    const loader = new DataLoader(stream as any, { batchSize: 2 });
    {
      await using pass = loader[Symbol.asyncIterator]();
      const { value } = await pass.next();
      expect(value.toArray()).toEqual([0, 1]);
      value.dispose();
      expect(closed).toBe(0);
    }
    expect(closed).toBe(1);
    const next = loader[Symbol.asyncIterator]();
    const { value } = await next.next();
    expect(value.toArray()).toEqual([0, 1]);
    value.dispose();
    await next.return!();
    expect(closed).toBe(2);
  });
});

test('using of a synchronous pass releases what it holds', () => {
  const x = torch.arange(6);
  const loader = new DataLoader(new TensorDataset(x), { batchSize: 2, shuffle: true });
  const before = settled().tensors;
  {
    using pass = loader[Symbol.iterator]();
    torch.disposeAll(pass.next().value);
    expect(counts().tensors).toBeGreaterThan(before); // the order
  }
  expect(counts().tensors).toBe(before);
  x.dispose();
});

test('using of progress writes the last line, once', () => {
  let text = '';
  const output = {
    write(part: string) {
      text += part;
      return true;
    },
  };
  {
    using progress = new torch.utils.Progress({ total: 3, every: 2, output });
    for (let step = 0; step < 3; step++) progress.step({ loss: step });
    expect(text.match(/step \d/g)).toEqual(['step 2']);
    progress.end();
  }
  expect(text.match(/step \d/g)).toEqual(['step 2', 'step 3']);
});

test('dispose waits for a worker that has answered the end of its pass, and the process stays until then', async () => {
  const { code, stdout, stderr } = await run(process.execPath, [path.join(__dirname, 'programs/ending.mjs')]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'disposed\n', stderr: '' });
});

test('dispose ends a pass under way, and frees what its workers have read ahead', async () => {
  const before = settled().tensors;
  const loader = new DataLoader(new TensorDataset(torch.arange(100)), { batchSize: 2, numWorkers: 2 });
  const pass = loader[Symbol.asyncIterator]();
  torch.disposeAll((await pass.next()).value);
  const ofDataset = 1; // the workers have its tensor until the pass has ended
  while (torch.memory().tokens <= ofDataset) await new Promise(setImmediate);
  await loader.dispose();
  expect(torch.memory().tokens).toBe(ofDataset);
  await expect(pass.next()).rejects.toMatchObject({ code: 'ERR_TORCH_DISPOSED' });
  expect(torch.memory().tokens).toBe(0);
  torch.disposeAll(loader.dataset);
  expect(settled().tensors).toBe(before);
});

test('a pass without a batch after one that had some is a warning: a generator is read once', async () => {
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const sizes = async (dataset: any, numWorkers = 0, options: object = { batchSize: null }) => {
    await using loader = new DataLoader(dataset, { numWorkers, ...options });
    const given: number[] = [];
    for (let i = 0; i < 2; i++) {
      let n = 0;
      for await (const _ of loader) n++;
      given.push(n);
    }
    return given;
  };
  try {
    expect(await sizes([1, 2])).toEqual([2, 2]);
    expect(await sizes(new Set([1, 2]), 1)).toEqual([2, 2]);
    expect(await sizes(new Set())).toEqual([0, 0]);
    expect(spy).not.toHaveBeenCalled();
    expect(await sizes(new Set([1, 2]).values())).toEqual([2, 0]);
    expect(spy).toHaveBeenCalledTimes(1);
    expect(String(spy.mock.calls[0]![0])).toMatch(/gave no batch in this pass, but some in an earlier one/);
    // So is an order of the program.
    expect(await sizes([1, 2], 0, { sampler: [1, 0] })).toEqual([2, 2]);
    for (const name of ['sampler', 'batchSampler']) {
      spy.mockClear();
      const once = name === 'sampler' ? [1, 0].values() : [[1], [0]].values();
      expect(await sizes([1, 2], 0, { [name]: once })).toEqual([2, 0]);
      expect(String(spy.mock.calls)).toContain(`the ${name} gave no batch in this pass`);
    }
  } finally {
    spy.mockRestore();
  }
});
