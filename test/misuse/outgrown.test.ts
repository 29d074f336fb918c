/** Shapes that libtorch leaves larger than their memory: a resize that fails halfway, set_ to a smaller storage. */
import { thrown, torch, untyped } from '../support/torch';

const aten = (torch as any).ops.aten;
const inScope = (fn: () => void) => () => torch.scope(fn);

test(
  'a failed resize leaves the tensor as it was, not one that reads foreign memory',
  inScope(() => {
    const array = Float32Array.of(1, 2);
    const borrowed = torch.fromTypedArray(array);
    const error = thrown(() => untyped.Tensor.prototype.resize_.call(borrowed, [1 << 20]));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(borrowed.shape).toEqual([2]);
    expect(borrowed.toArray()).toEqual([1, 2]);
    expect([...array]).toEqual([1, 2]);
  }),
);

describe('a resize that the memory limit refuses', () => {
  afterEach(() => torch.setMemoryLimit(null));
  const limited = (make: () => unknown) => {
    torch.setMemoryLimit(torch.memory().allocatedBytes + 1000);
    return make();
  };
  const rejected = (promise: Promise<unknown>) => promise.catch(({ code }) => code);

  test('leaves shape, strides, offset and values; the same call works later', () =>
    torch.scope(() => {
      const t = torch.arange(12).view([3, 4]).narrow(0, 1, 2).t();
      const error = limited(() => thrown(() => untyped.Tensor.prototype.resize_.call(t, [1000]))) as any;
      expect(error.code).toBe('ERR_TORCH_MEMORY_LIMIT');
      expect([t.shape, t.strides, t.storageOffset()]).toEqual([[4, 2], [1, 4], 4]);
      expect(t.tolist()).toEqual([4, 5, 6, 7].map((n) => [n, n + 4]));
      torch.setMemoryLimit(null);
      expect(untyped.Tensor.prototype.resize_.call(t, [1000]).shape).toEqual([1000]);
    }));

  test('the same for out=, also if it is not empty', () =>
    torch.scope(() => {
      const out = torch.tensor([1, 2]);
      const wide = torch.ones([1]).expand([1000]);
      const error = limited(() => thrown(() => untyped.add(wide, 1, { out }))) as any;
      expect([error.code, out.tolist()]).toEqual(['ERR_TORCH_MEMORY_LIMIT', [1, 2]]);
    }));

  test('the same in the pool and in a captured function', () =>
    torch.scope(async () => {
      const t = torch.tensor([1, 2]);
      const grow = (x: any) => x.resize_([1000]);
      const run = limited(() => rejected(torch.run(() => grow(t))));
      expect([await run, t.tolist()]).toEqual(['ERR_TORCH_MEMORY_LIMIT', [1, 2]]);
      const captured = torch.capture((x: any) => grow(x).add(1));
      expect([(thrown(() => captured(t)) as any).code, t.tolist()]).toEqual(['ERR_TORCH_MEMORY_LIMIT', [1, 2]]);
      captured.dispose();
    }));
});

test(
  'the same for out= if the result does not fit',
  inScope(() => {
    const borrowed = torch.fromTypedArray(Float32Array.of(1, 2));
    const error = thrown(() => untyped.add(torch.ones([1000]), 1, { out: borrowed }));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(borrowed.numel).toBeLessThanOrEqual(2);
  }),
);

test(
  'set_ to a storage too small for the shape is refused',
  inScope(() => {
    const large = torch.ones([1000]);
    const small = torch.ones([2]);
    const error = thrown(() => aten.set_.source_Storage_storage_offset(large, small.storage(), 0, [1000], [1]));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(error.message).toMatch(
      /storageOffset: expected an offset with which size lies in source, got 0 and \[1000\]/,
    );
    // It is looked at in advance, so nothing has changed.
    expect(large.shape).toEqual([1000]);
    expect(small.toArray()).toEqual([1, 1]);
    // The old memory of `large` is freed with its storage; it now has small's, counted once.
    const fits = torch.ones([2]);
    aten.set_.source_Storage_storage_offset(fits, small.storage(), 0, [2], [1]);
    expect(fits.toArray()).toEqual([1, 1]);
  }),
);

test(
  'a set_ that fails over sizes, strides or an offset that no 64 bits hold leaves an empty tensor, a resize none',
  inScope(() => {
    const set = (offset: unknown, size: unknown[], stride: unknown[]) => {
      const t = torch.ones([4]);
      const error = thrown(() => untyped.Tensor.prototype.set_.call(t, torch.ones([8]), offset, size, stride));
      expect(error.code).toBe('ERR_TORCH_RUNTIME');
      expect(t.shape).toEqual([0]);
    };
    set(2n ** 62n - 2n ** 30n, [2], [2 ** 30]); // the offset of the last element is 2^62, and so of byte 0
    set(0, [3, 2], [2 ** 40, 2n ** 62n - 2n ** 41n]);
    set(0, [2 ** 32, 2 ** 32], [0, 0]);
    for (const size of [[-1], [-1, -4]]) {
      const view = torch.ones([8]).narrow(0, 2, 4);
      expect(thrown(() => untyped.Tensor.prototype.resize_.call(view, size)).code).toBe('ERR_TORCH_RUNTIME');
      expect([view.shape, view.storageOffset()]).toEqual([[4], 2]);
    }
  }),
);
