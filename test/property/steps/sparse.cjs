/** Tensors with several storages: coo (indices and values) and csr (two index tensors and values). */
'use strict';

const { Storage, Impl } = require('../model.cjs');
const { itemSizes } = require('../shapes.cjs');
const { text, isSmall } = require('../world.cjs');

const isCoo = (impl) => impl.layout === 'coo';

let perEntry;
/** Indices that the columns of a converted CSR tensor keep per entry: 1, in libtorch 2.14 rows and columns of a COO tensor. */
function columnIndices({ scope, tensor }) {
  perEntry ??= scope(
    () =>
      tensor([[1]])
        .toSparseCsr()
        .colIndices().storageBytes / 8,
  );
  return perEntry;
}

function coo(shape, dtype, entries, { indices, values, room = entries, coalesced = true, places } = {}) {
  // Autograd and later reads rely on the indices.
  const storages = [indices ?? new Storage(8 * shape.length * room), values ?? new Storage(itemSizes[dtype] * room)];
  storages[0].readonly = true;
  const impl = new Impl({ storages, shape, dtype, layout: 'coo' });
  return Object.assign(impl, { entries, coalesced, places });
}

const first = (count) => Array.from({ length: count }, (_, i) => i);

/** A dense tensor of known zeros: a vector with ones at the first places. */
function dense(world, draw) {
  const [size, entries] = [6, draw.below(6)];
  const data = Array.from({ length: size }, (_, i) => (i < entries ? 1 : 0));
  return { tensor: world.torch.tensor(data), size, entries };
}

module.exports = [
  {
    name: 'toSparse',
    weight: 3,
    run(world, draw) {
      const { tensor, size, entries } = dense(world, draw);
      const sparse = tensor.toSparse();
      tensor.dispose();
      const impl = coo([size], 'float32', entries, { places: first(entries) });
      return world.result(`a vector with ${entries} entries .toSparse()`, sparse, impl);
    },
  },
  {
    name: 'sparseCooTensor',
    weight: 2,
    run(world) {
      const indices = world.torch.tensor([[0n, 2n, 4n]]);
      const values = world.torch.tensor([1, 2, 3]);
      const held = [Impl.fresh([1, 3], 'int64'), Impl.fresh([3], 'float32')];
      held[0].storage.readonly = true;
      world.result('indices', indices, held[0]);
      world.result('values', values, held[1]);
      const sparse = world.torch.sparseCooTensor(indices, values, [6]);
      const options = { indices: held[0].storage, values: held[1].storage, coalesced: false, places: [0, 2, 4] };
      return world.result('sparseCooTensor of both', sparse, coo([6], 'float32', 3, options));
    },
  },
  {
    name: 'coalesce',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isCoo(impl) && !impl.ofGrad);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const { shape, dtype, entries, places, coalesced } = impl;
      const result = coalesced ? impl : coo(shape, dtype, entries, { places });
      return world.result(`#${number}.coalesce()`, tensor.coalesce(), result);
    },
  },
  {
    name: 'parts of coo',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, isCoo);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const { version } = impl; // the parts share the count of writes with the whole, like views
      const part = (i, shape, dtype) => new Impl({ storages: [impl.storages[i]], shape, dtype, version });
      if (draw.below(2) === 0) {
        const indices = tensor._indices();
        return world.result(`#${number}._indices()`, indices, part(0, indices.shape, 'int64'));
      }
      const values = tensor._values();
      return world.result(`#${number}._values()`, values, part(1, values.shape, impl.dtype));
    },
  },
  {
    name: 'toDense',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isCoo(impl) && isSmall(impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      return world.result(`#${number}.toDense()`, tensor.toDense(), Impl.fresh(impl.shape, impl.dtype));
    },
  },
  {
    name: 'add_ of coo',
    weight: 2,
    run(world, draw) {
      const self = world.some(draw, (impl) => isCoo(impl) && !impl.ofGrad && impl.coalesced && impl.entries > 0);
      if (self === null) return false;
      const { tensor, entries } = dense(world, draw);
      const other = tensor.toSparse();
      self.tensor.add_(other);
      world.torch.disposeAll([tensor, other]);
      const { impl } = self;
      impl.version.count++;
      if (entries > 0) {
        // New storages with space for the entries of both, also for common ones.
        const room = impl.entries + entries;
        const places = [...new Set([...impl.places, ...first(entries)])];
        const { storages } = coo(impl.shape, impl.dtype, places.length, { room });
        Object.assign(impl, { storages, places, entries: places.length });
      }
      return world.say(`#${self.number}.add_(a sparse vector with ${entries} entries)`);
    },
  },
  {
    name: 'clone of coo',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isCoo(impl) && !impl.ofGrad);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const { shape, dtype, entries, coalesced, places } = impl;
      return world.result(`#${number}.clone()`, tensor.clone(), coo(shape, dtype, entries, { coalesced, places }));
    },
  },
  {
    name: 'toSparseCsr',
    weight: 2,
    run(world, draw) {
      const rows = 1 + draw.below(3);
      const entries = draw.below(rows + 1);
      const data = Array.from({ length: rows }, (_, i) => [i < entries ? 1 : 0, 0]);
      const tensor = world.torch.tensor(data);
      const sparse = tensor.toSparseCsr();
      tensor.dispose();
      const columns = columnIndices(world.torch) * entries;
      const storages = [new Storage(8 * (rows + 1)), new Storage(8 * columns), new Storage(4 * entries)];
      for (const storage of storages.slice(0, 2)) storage.readonly = true;
      const impl = new Impl({ storages, shape: [rows, 2], dtype: 'float32', layout: 'csr' });
      return world.result(`${text(data)}.toSparseCsr()`, sparse, impl);
    },
  },
  {
    name: 'values of csr',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => impl.layout === 'csr');
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const values = tensor.values();
      const { storages, version } = impl;
      const part = new Impl({ storages: [storages[2]], shape: values.shape, dtype: 'float32', version });
      part.base = impl;
      return world.result(`#${number}.values()`, values, part);
    },
  },
];
module.exports.coo = coo;
