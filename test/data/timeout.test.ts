/** The option `timeoutMs` of a DataLoader. */
import { balancedAsync, settled, torch } from '../support/torch';
import { disposeLoaders, type Loader, load, worker } from './load';

const { DataLoader } = torch.utils.data;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
afterEach(() => {
  jest.useRealTimers();
  return disposeLoaders();
});

/** The time passes only when a test says so, however long a worker takes to start. */
const stopClocks = () =>
  jest.useFakeTimers({
    doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask', 'performance', 'hrtime', 'Date'],
  });

/** A loader whose one worker never answers for a sample, the first time; `hangs`: whether it reads that one. */
function hanging(at: number): { loader: Loader; hangs: () => boolean } {
  const cells = new SharedArrayBuffer(12);
  const options = { batchSize: 2, numWorkers: 1, timeoutMs: 500, worker: worker('faulty', 10, 'hang', at, cells) };
  const loader = load({ length: 10, getItem: () => 0 }, options);
  return { loader, hangs: () => Atomics.load(new Int32Array(cells), 0) === 1 };
}

async function read(loader: Loader, seen: unknown[], stop = false): Promise<void> {
  for await (const batch of loader) {
    seen.push(batch.toArray().flat());
    torch.disposeAll(batch);
    if (stop) break;
  }
}

const whole = Array.from({ length: 5 }, (_, i) => [2 * i, 2 * i + 1]);

test('a sample in a worker that takes too long rejects the pass; the next one is whole', async () => {
  const before = settled();
  stopClocks();
  const { loader, hangs } = hanging(5);
  const seen: unknown[] = [];
  const failed = read(loader, seen).then(
    () => null,
    (error) => error,
  );
  while (!hangs() || seen.length < 2) await turn();
  jest.advanceTimersByTime(499);
  await turn();
  expect(seen).toEqual(whole.slice(0, 2));
  jest.advanceTimersByTime(1);
  const { code, index, message } = await failed;
  expect([code, index, message]).toEqual([
    'ERR_TORCH_TIMEOUT',
    5,
    'utils.data.DataLoader: expected a batch within 500 ms (timeoutMs), got none: sample 5 takes longer',
  ]);
  const next: unknown[] = [];
  await read(loader, next);
  expect(next).toEqual(whole);
  await loader.dispose();
  while (settled().tensors > before.tensors) await turn();
});

test('a break waits for the sample that a worker reads no longer than for a batch', async () => {
  stopClocks();
  const { loader, hangs } = hanging(3);
  const seen: unknown[] = [];
  let ended = false;
  const loop = read(loader, seen, true).then(() => {
    ended = true;
  });
  while (!hangs() || seen.length < 1) await turn();
  for (let i = 0; i < 10; i++) await turn();
  expect(ended).toBe(false);
  jest.advanceTimersByTime(500);
  await loop;
  const next: unknown[] = [];
  await read(loader, next);
  expect([seen, next]).toEqual([whole.slice(0, 1), whole]);
});

test('an asynchronous dataset that takes too long rejects without workers', async () => {
  const getItem = (index: number) => (index === 3 ? new Promise(() => {}) : Promise.resolve(index));
  await balancedAsync(async () => {
    const seen: unknown[] = [];
    const loader = new DataLoader({ length: 10, getItem }, { batchSize: 2, timeoutMs: 50 });
    const message = 'utils.data.DataLoader: expected a batch within 50 ms (timeoutMs), got none';
    await expect(read(loader, seen)).rejects.toMatchObject({ code: 'ERR_TORCH_TIMEOUT', message });
    expect(seen).toEqual(whole.slice(0, 1));
  });
});

test('an asynchronous iterable that takes too long rejects with the sample', async () => {
  async function* samples() {
    yield* [0, 1, 2];
    await new Promise(() => {});
  }
  await balancedAsync(async () => {
    const seen: unknown[] = [];
    const message = 'utils.data.DataLoader: expected a batch within 50 ms (timeoutMs), got none: sample 3 takes longer';
    await expect(read(new DataLoader(samples(), { batchSize: 2, timeoutMs: 50 }), seen)).rejects.toMatchObject({
      code: 'ERR_TORCH_TIMEOUT',
      index: 3,
      message,
    });
    expect(seen).toEqual(whole.slice(0, 1));
  });
});

test('a time that is not used up leaves no timer; other values are refused', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const seen: unknown[] = [];
  const getItem = async (index: number) => index;
  await read(new DataLoader({ length: 10, getItem }, { batchSize: 2, timeoutMs: 2 ** 31 - 1 }), seen);
  expect([seen, timers()]).toEqual([whole, before]);
  for (const timeoutMs of [0, -1, Number.NaN, '5', 2 ** 31, null]) {
    expect(() => new DataLoader([1], { timeoutMs } as never)).toThrow(
      /'timeoutMs': expected a number of ms from 1 to 2147483647/,
    );
  }
});
