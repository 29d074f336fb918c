/** Shapes that libtorch leaves larger than their memory: a resize that fails halfway, set_ to a smaller storage. */
import { thrown, torch, untyped } from '../support/torch';

const aten = (torch as any).ops.aten;
const inScope = (fn: () => void) => () => torch.scope(fn);

test(
  'a failed resize leaves an empty tensor, not one that reads foreign memory',
  inScope(() => {
    const array = Float32Array.of(1, 2);
    const borrowed = torch.fromTypedArray(array);
    const error = thrown(() => untyped.Tensor.prototype.resize_.call(borrowed, [1 << 20]));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(borrowed.shape).toEqual([0]);
    expect(borrowed.toArray()).toEqual([]);
    expect([...array]).toEqual([1, 2]);
  }),
);

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
