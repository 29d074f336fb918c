/** torch.memory(): each storage once, to the byte, whatever happens to its tensors. */
import { balanced, codeOf, counts, torch, untyped } from '../support/torch';

const bytesOf = (fn: () => unknown): number => {
  const before = torch.memory().bytes;
  fn();
  return torch.memory().bytes - before;
};

const inScope = (fn: () => void) => balanced(() => torch.scope(fn));

test("tensors, storages and bytes, and the allocator's memory", () => {
  inScope(() => {
    const before = torch.memory();
    const t = torch.zeros([3, 5], { dtype: 'float64' });
    const after = torch.memory();
    expect(after.tensors - before.tensors).toBe(1);
    expect(after.storages - before.storages).toBe(1);
    expect(after.bytes - before.bytes).toBe(120);
    expect(after.allocatedBytes - before.allocatedBytes).toBe(120);
    expect(after.peakAllocatedBytes).toBeGreaterThanOrEqual(after.allocatedBytes);
    expect(after.devices.cpu!.bytes - (before.devices.cpu?.bytes ?? 0)).toBe(120);
    expect([t.nbytes, t.storageBytes]).toEqual([120, 120]);
  });
});

test('views, expand, detach, t() and the like add nothing', () => {
  inScope(() => {
    const base = torch.arange(24, { dtype: 'float32' });
    const { tensors, storages } = counts();
    const views = [
      () => base.view([4, 6]),
      () => base.view([4, 6]).t(),
      () => base.detach(),
      () => base.slice(0, 2, 5),
      () => base.at(torch.slice(0, null, 2)),
      () => base.unsqueeze(0).expand([1000, 24]),
      () => base.alias(),
      () => base.storage(),
      () => base.asStrided([2], [3]),
      () => base.view([4, 6]).T,
      () => base.view([2, 12]).unbind(0),
      () => base.split(5),
      () => base.contiguous(),
    ];
    for (const view of views) expect(bytesOf(view)).toBe(0);
    expect(counts().storages).toBe(storages);
    expect(counts().tensors).toBeGreaterThan(tensors + views.length);
    expect(base.unsqueeze(0).expand([1000, 24]).nbytes).toBe(96_000);
    expect(base.unsqueeze(0).expand([1000, 24]).storageBytes).toBe(96);
  });
});

test('resize_ charges what it adds; a shrunk tensor keeps its storage', () => {
  inScope(() => {
    const t = torch.zeros([4]);
    const view = t.alias();
    expect(bytesOf(() => t.resize_([100]))).toBe(384);
    expect(bytesOf(() => t.resize_([2]))).toBe(0);
    expect(bytesOf(() => view.resize_([200]))).toBe(400);
    expect(bytesOf(() => t.dispose())).toBe(0);
    expect(bytesOf(() => view.dispose())).toBe(-800);
  });
});

test('out= resizes its target, also through several outs', () => {
  inScope(() => {
    const a = torch.ones([50]);
    const out = torch.empty([0]);
    expect(bytesOf(() => torch.add(a, a, { out }))).toBe(200);
    expect(bytesOf(() => torch.add(a, a, { out }))).toBe(0);
    const values = torch.empty([0]);
    const indices = torch.empty([0], { dtype: 'int64' });
    expect(bytesOf(() => untyped.sort(a, { out: [values, indices] }))).toBe(200 + 400);
  });
});

test('set_ moves the handle and its charge to another storage', () => {
  inScope(() => {
    const a = torch.zeros([10]);
    const b = torch.zeros([100]);
    expect(bytesOf(() => untyped.ops.aten.set_.source_Tensor(a, b))).toBe(-40);
    expect(bytesOf(() => b.dispose())).toBe(0);
    expect(a.shape).toEqual([100]);
    expect(bytesOf(() => a.dispose())).toBe(-400);
  });
});

test('set_ with a Storage, and to nothing', () => {
  inScope(() => {
    const a = torch.zeros([10]);
    const b = torch.ones([100]);
    const storage = b.storage();
    expect(bytesOf(() => untyped.ops.aten.set_.source_Storage(a, storage))).toBe(-40);
    expect(a.numel).toBe(100);
    expect(bytesOf(() => untyped.ops.aten.set_.default(a))).toBe(0);
    expect(a.numel).toBe(0);
    expect(bytesOf(() => torch.disposeAll([b, storage]))).toBe(-400);
  });
});

test('set_data changes the storage of all handles of the same tensor', () => {
  inScope(() => {
    const x = torch.zeros([10], { requiresGrad: true });
    const kept = x.mul(1);
    kept.sum().backward();
    const g1 = x.grad!;
    const g2 = x.grad!; // another handle on the very same TensorImpl
    const wide = torch.zeros([10], { dtype: 'float64' });
    const before = torch.memory().bytes;
    untyped.ops.aten.set_data.default(g1, torch.ones([10]));
    expect(g2.toArray()).toEqual(Array(10).fill(1));
    expect(torch.memory().bytes).toBe(before); // 40 in, 40 out
    g1.dispose();
    g2.dispose();
    x.grad = null;
    wide.dispose();
  });
});

test('an op that fails after resizing its out is counted too', () => {
  inScope(() => {
    const out = torch.empty([0]);
    const index = torch.tensor([0n, 99n]);
    const a = torch.ones([4]);
    const before = torch.memory().bytes;
    codeOf(() => untyped.indexSelect(a, 0, index, { out }));
    expect(torch.memory().bytes - before).toBe(out.storageBytes);
  });
});

test('a sparse tensor is one handle with the bytes of its indices and values', () => {
  inScope(() => {
    const indices = torch.tensor([[0n, 2n, 4n]]);
    const values = torch.tensor([1, 2, 3]);
    const before = counts();
    const coo = untyped.sparseCooTensor(indices, values, [6]);
    expect(counts().tensors - before.tensors).toBe(1);
    expect(counts().bytes - before.bytes).toBe(0); // it shares both storages
    torch.disposeAll([indices, values]);
    expect(counts().bytes).toBe(before.bytes);
    const more = bytesOf(() => coo.coalesce());
    expect(more).toBe(3 * 8 + 3 * 4);
    coo.dispose();
  });
});

test('CSR tensors count both index tensors and the values', () => {
  inScope(() => {
    const dense = torch.tensor([
      [1, 0, 2],
      [0, 0, 3],
    ]);
    const before = counts();
    const csr = dense.toSparseCsr();
    expect(counts().tensors - before.tensors).toBe(1);
    // libtorch 2.14 converts through COO: the columns are part of that tensor's indices, whose memory they keep.
    const held = counts().bytes - before.bytes;
    const parts = [csr.crowIndices(), csr.colIndices(), csr.values()];
    expect(parts.map(({ nbytes }) => nbytes)).toEqual([3 * 8, 3 * 8, 3 * 4]);
    expect(held).toBe(parts.reduce((sum, { storageBytes }) => sum + storageBytes, 0));
    torch.disposeAll([csr, parts]);
    expect(counts()).toEqual(before);
  });
});

test('a sparse tensor changed in place is recounted', () => {
  inScope(() => {
    const a = torch.tensor([1, 0, 0, 2]).toSparse();
    const b = torch.tensor([0, 3, 0, 0]).toSparse();
    const before = torch.memory().bytes;
    a.add_(b);
    expect(torch.memory().bytes - before).toBe(8 + 4);
    a.dispose();
  });
});

test('meta tensors have a shape but not bytes', () => {
  inScope(() => {
    expect(bytesOf(() => untyped.empty([2 ** 30], { device: 'meta' }))).toBe(0);
    expect(torch.memory().devices.meta!.tensors).toBe(1);
  });
});

describe('fromTypedArray', () => {
  test('shares the memory, charges nothing, sees writes both ways', () => {
    inScope(() => {
      const array = new Float32Array([1, 2, 3, 4, 5, 6]);
      const before = torch.memory();
      const t = torch.fromTypedArray(array, [2, 3]);
      const after = torch.memory();
      expect([after.bytes - before.bytes, after.allocatedBytes - before.allocatedBytes]).toEqual([0, 0]);
      expect([after.tensors - before.tensors, after.storages - before.storages]).toEqual([1, 1]);
      array[0] = 10;
      expect(t.at(0, 0).item()).toBe(10);
      t.add_(1);
      expect([...array]).toEqual([11, 3, 4, 5, 6, 7]);
    });
  });
  test('part of a buffer, and every type of array', () => {
    inScope(() => {
      const whole = new Int32Array([1, 2, 3, 4]);
      const part = torch.fromTypedArray(whole.subarray(1, 3));
      expect(part.toArray()).toEqual([2, 3]);
      part.mul_(10);
      expect([...whole]).toEqual([1, 20, 30, 4]);
      const arrays = [Int8Array, Uint8Array, Int16Array, Int32Array, Float32Array, Float64Array];
      for (const type of arrays) expect(torch.fromTypedArray(new type([1, 2])).toArray()).toEqual([1, 2]);
      expect(torch.fromTypedArray(new BigInt64Array([5n])).dtype).toBe('int64');
    });
  });
  test('a copy of it is charged', () => {
    inScope(() => {
      const t = torch.fromTypedArray(new Float32Array(100));
      expect(bytesOf(() => t.clone())).toBe(400);
      expect(bytesOf(() => t.view([10, 10]))).toBe(0);
      expect(codeOf(() => t.resize_([1000]))).toBe('ERR_TORCH_RUNTIME');
    });
  });
  test('refuses a shape of another size, and values that are not typed arrays', () => {
    inScope(() => {
      expect(codeOf(() => torch.fromTypedArray(new Float32Array(4), [5]))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => untyped.fromTypedArray([1, 2]))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => untyped.fromTypedArray(new DataView(new ArrayBuffer(8))))).toBe('ERR_TORCH_ARGUMENT');
    });
  });
});
