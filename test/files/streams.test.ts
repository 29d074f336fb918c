/** Files of tensors as streams: reading, writing, backpressure; truncation, failure and abort without leaks. */
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Tensor } from 'libtorch-node';
import { balancedAsync, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-streams-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

type Load = (source: any, options?: any) => Promise<any>;

/** Every format with streams: its save to bytes, its stream, and its reader. */
const formats: [string, { bytes(): Uint8Array; stream(): any; load: Load; tensor(loaded: any): Tensor }][] = [
  [
    'safetensors',
    {
      bytes: () => torch.safetensors.serialize({ a: value(), b: torch.ones([3]) }, { metadata: { x: 'y' } }),
      stream: () => torch.safetensors.saveToStream({ a: value(), b: torch.ones([3]) }, { metadata: { x: 'y' } }),
      load: torch.safetensors.loadFromStream,
      tensor: (loaded) => loaded.a,
    },
  ],
  [
    'npy',
    {
      bytes: () => torch.npy.serialize(value()),
      stream: () => torch.npy.saveToStream(value()),
      load: torch.npy.loadFromStream,
      tensor: (loaded) => loaded,
    },
  ],
  [
    'npz',
    {
      bytes: () => {
        torch.npz.save(path.join(folder, 'a.npz'), { a: value() });
        return require('node:fs').readFileSync(path.join(folder, 'a.npz'));
      },
      stream: () => torch.npz.saveToStream({ a: value() }),
      load: torch.npz.loadFromStream,
      tensor: (loaded) => loaded.a,
    },
  ],
  [
    "torch.save's",
    {
      bytes: () => torch.saveToBuffer({ a: value(), n: 3 }),
      stream: () => torch.saveToStream({ a: value(), n: 3 }),
      load: torch.loadFromStream,
      tensor: (loaded) => loaded.a,
    },
  ],
];
const value = () => torch.arange(12).view([3, 4]).t();

/** A ReadableStream of chunks of `bytes`, which counts its reads. */
function source(bytes: Uint8Array, size = 7, end: 'close' | 'hang' | Error = 'close') {
  const seen = { pulls: 0, cancelled: undefined as unknown };
  let at = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulls++;
        if (at < bytes.length) {
          controller.enqueue(bytes.slice(at, at + size));
          at += size;
        } else if (end === 'close') controller.close();
        else if (end !== 'hang') controller.error(end);
        else return new Promise(() => {});
      },
      cancel(reason) {
        seen.cancelled = reason ?? 'without a reason';
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, seen };
}

const failure = (promise: Promise<unknown>): Promise<Error & { code: string; cause?: unknown }> =>
  promise.then(
    () => {
      throw new Error('expected an error, none came');
    },
    (error) => error,
  );

describe.each(formats)('%s', (_name, { bytes, stream, load, tensor }) => {
  test('streams the same bytes as a save at once', () =>
    balancedAsync(() =>
      torch.scope(async () => {
        expect(Buffer.compare(await buffer(stream()), Buffer.from(bytes()))).toBe(0);
      }),
    ));

  test('from a ReadableStream in odd chunks, a Readable, a file, a Blob, an iterable, bytes', () =>
    balancedAsync(() =>
      torch.scope(async () => {
        const all = bytes();
        const file = path.join(folder, 'file');
        require('node:fs').writeFileSync(file, all);
        const sources = [
          source(all, 1).stream,
          source(all, 13).stream,
          Readable.from([all.subarray(0, 20), new Uint8Array(0), all.subarray(20)]),
          createReadStream(file, { highWaterMark: 11 }),
          new Blob([all]),
          new Response(all).body,
          (async function* () {
            yield all;
          })(),
          all,
          stream(),
        ];
        for (const each of sources) expect(tensor(await load(each)).tolist()).toEqual(value().tolist());
      }),
    ));

  test('truncated anywhere: an error with a code, and nothing is leaked', () =>
    balancedAsync(async () => {
      const all = torch.scope(() => bytes());
      for (let length = 0; length < all.length; length += length < 90 ? 1 : 37) {
        const { code, message } = await failure(load(source(all.subarray(0, length), 50).stream));
        expect({ length, code }).toEqual({ length, code: expect.stringMatching(/^ERR_TORCH_(STREAM|FILE)$/) });
        expect(message).not.toBe('');
      }
    }));

  test('more than the file', () =>
    balancedAsync(async () => {
      const all = torch.scope(() => Buffer.concat([bytes(), Buffer.from('more of it')]));
      expect((await failure(load(source(all).stream))).code).toBe('ERR_TORCH_FILE');
    }));

  test('a source that fails: its error is the cause', () =>
    balancedAsync(async () => {
      const all = torch.scope(() => bytes());
      const broken = new Error('connection reset');
      for (const length of [0, 5, 60, all.length]) {
        const error = await failure(load(source(all.subarray(0, length), 50, broken).stream));
        expect(error).toMatchObject({ code: 'ERR_TORCH_STREAM', cause: broken });
        expect(error.message).toMatch(/the stream failed after \d+ bytes: connection reset/);
      }
      const readable = Readable.from([all.subarray(0, 30)]);
      readable.once('data', () => readable.destroy(broken));
      expect((await failure(load(readable))).code).toMatch(/^ERR_TORCH_(STREAM|FILE)$/);
    }));

  test('aborted: before, during, and with a peer that sends nothing', () =>
    balancedAsync(async () => {
      const all = torch.scope(() => bytes());
      const reason = new Error('enough');
      for (const when of ['before', 'meanwhile']) {
        const { stream: from, seen } = source(all.subarray(0, 40), 10, 'hang');
        const aborting = new AbortController();
        if (when === 'before') aborting.abort(reason);
        const loading = failure(load(from, { signal: aborting.signal }));
        if (when === 'meanwhile') setTimeout(() => aborting.abort(reason), 5);
        expect(await loading).toBe(reason);
        expect(seen.cancelled).toBe(reason);
      }
    }));

  test('at most maxBytes', () =>
    balancedAsync(async () => {
      const all = torch.scope(() => bytes());
      const { stream: from, seen } = source(all, 10);
      const { code, message } = await failure(load(from, { maxBytes: all.length - 1 }));
      expect({ code, message }).toEqual({ code: 'ERR_TORCH_STREAM', message: expect.stringContaining('(maxBytes)') });
      expect(seen.cancelled).toMatchObject({ code: 'ERR_TORCH_STREAM' });
      await torch.scope(async () => void (await load(source(all).stream, { maxBytes: all.length })));
    }));

  test('a stream that is not read to its end releases its tensors', () =>
    balancedAsync(async () => {
      const cancelled = torch.scope(() => stream()) as ReadableStream<Uint8Array>;
      const reader = cancelled.getReader();
      await reader.read();
      await reader.cancel();
      await (torch.scope(() => stream()) as ReadableStream).cancel();
    }));

  test('values that are not sources, and chunks that are not bytes', async () => {
    for (const wrong of [undefined, null, 3, 'path', {}, [1]])
      expect((await failure(load(wrong))).code).toBe('ERR_TORCH_ARGUMENT');
    expect((await failure(load(Readable.from(['text'])))).code).toBe('ERR_TORCH_ARGUMENT');
    expect((await failure(load(new Blob([]), { signal: 'now' }))).code).toBe('ERR_TORCH_ARGUMENT');
    expect((await failure(load(new Blob([]), { maxBytes: -1 }))).code).toBe('ERR_TORCH_ARGUMENT');
    expect((await failure(load(new Blob([]), null))).code).toBe('ERR_TORCH_ARGUMENT');
  });
});

describe('at the pace of the slower', () => {
  test('a stream is made as it is read', async () => {
    const big = torch.zeros([3 << 20], { dtype: 'uint8' });
    const stream = torch.npy.saveToStream(big) as ReadableStream<Uint8Array>;
    const reader = stream.getReader();
    const parts = [(await reader.read()).value!, (await reader.read()).value!];
    big.fill_(7); // parts that were not read yet are produced lazily
    for (;;) {
      const { done, value: part } = await reader.read();
      if (done) break;
      parts.push(part!);
    }
    const sizes = parts.map(({ length }) => length);
    expect(sizes).toEqual([expect.any(Number), 1 << 20, 1 << 20, 1 << 20]);
    expect(parts.slice(1).map((part) => part[0])).toEqual([0, 7, 7]);
  });

  test('tensors may be disposed of meanwhile', async () => {
    const tensor = torch.arange(1 << 19);
    const stream = torch.safetensors.saveToStream({ tensor });
    tensor.dispose();
    const { tensor: back } = await torch.safetensors.loadFromStream(stream);
    expect(back!.sum().item()).toBe(((1 << 19) * ((1 << 19) - 1)) / 2);
  });

  test('a source is read only as far as needed', async () => {
    const lying = Buffer.alloc(1000);
    lying.writeBigUInt64LE(2n ** 40n);
    const { stream, seen } = source(lying, 10);
    expect((await failure(torch.safetensors.loadFromStream(stream))).code).toBe('ERR_TORCH_FILE');
    expect(seen).toEqual({ pulls: 1, cancelled: expect.objectContaining({ code: 'ERR_TORCH_FILE' }) });
  });

  test('a tensor larger than memory is refused without waiting for its data', async () => {
    const header = Buffer.from(JSON.stringify({ x: { dtype: 'U8', shape: [2 ** 50], data_offsets: [0, 2 ** 50] } }));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const { stream } = source(Buffer.concat([length, header]), 500, 'hang');
    expect((await failure(torch.safetensors.loadFromStream(stream))).code).toBe('ERR_TORCH_OUT_OF_MEMORY');
  });
});

describe.each([
  ['safetensors', (t: Tensor) => torch.safetensors.serialize({ a: t }), torch.safetensors.loadFromStream, 'a'],
  ['npy', (t: Tensor) => torch.npy.serialize(t), torch.npy.loadFromStream, undefined],
] as [string, (t: Tensor) => Uint8Array, Load, string | undefined][])('memory of %s', (_name, bytesOf, load, key) => {
  const bytes = () => torch.scope(() => bytesOf(torch.ones([1000])));

  test('is counted, and can be shared with threads, as if from a file', () =>
    balancedAsync(() =>
      torch.scope(async () => {
        const all = bytes();
        const before = torch.memory();
        const loaded = await load(new Blob([all]));
        const t = key === undefined ? loaded : loaded[key];
        const after = torch.memory();
        for (const name of ['tensors', 'storages'] as const) expect(after[name] - before[name]).toBe(1);
        for (const name of ['bytes', 'allocatedBytes'] as const) expect(after[name] - before[name]).toBe(4000);
        using token = t.share();
        expect(torch.fromShared(token).sum().item()).toBe(1000);
      }),
    ));

  test('is in the memory limit, which leaves nothing', () =>
    balancedAsync(async () => {
      const all = bytes();
      torch.setMemoryLimit(torch.memory().allocatedBytes + 3000);
      const { stream, seen } = source(all, 500);
      const { code } = await failure(load(stream)).finally(() => torch.setMemoryLimit(null));
      expect(code).toBe('ERR_TORCH_MEMORY_LIMIT');
      expect(seen.cancelled).toMatchObject({ code }); // before all of it was read
    }));
});

test('tensors belong to the scope that reads them', async () => {
  const bytes = torch.npy.serialize(torch.ones([4]));
  const kept = await torch.scope(async () => {
    const gone = await torch.npy.loadFromStream(new Blob([bytes]));
    const stays = await torch.npy.loadFromStream(new Blob([bytes]));
    return { gone: [() => gone.disposed], stays };
  });
  expect(kept.gone[0]!()).toBe(true);
  expect(kept.stays.disposed).toBe(false);
});

test('dtypes, empty tensors and empty files', async () => {
  const tensors = {
    bools: torch.tensor([true, false]),
    halves: torch.ones([2], { dtype: 'bfloat16' }),
    complex: torch.ones([2], { dtype: 'complex64' }),
    empty: torch.zeros([0, 3]),
    scalar: torch.full([], 3),
  };
  const back = await torch.safetensors.loadFromStream(torch.safetensors.saveToStream(tensors));
  for (const [name, tensor] of Object.entries(tensors)) expect(back[name]).toEqual(tensor);
  expect(await torch.safetensors.loadFromStream(torch.safetensors.saveToStream({}))).toEqual({});
  expect(() => torch.npy.saveToStream(untyped.ones([1], { dtype: 'bfloat16' }))).toThrow(/NumPy/);
});

test('many streams that share a signal do not make Node warn about its listeners', async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => void warnings.push(warning);
  process.on('warning', listener);
  const controller = new AbortController();
  const endless = () => new ReadableStream({ pull: () => new Promise(() => {}) });
  const loads = Array.from({ length: 30 }, () =>
    torch.npy.loadFromStream(endless() as never, { signal: controller.signal }).then(
      () => 'loaded',
      (error: Error) => error.name,
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  expect(new Set(await Promise.all(loads))).toEqual(new Set(['AbortError']));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listener);
  expect(warnings).toEqual([]);
});
