/** New storages. */
'use strict';

const { Storage, Impl } = require('../model.cjs');
const { dtypes, contiguousStrides, numelOf, same } = require('../shapes.cjs');
const { text, isPlain, isSmall, isFloat } = require('../world.cjs');

const arrays = [
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
  [Int8Array, 'int8'],
  [Uint8Array, 'uint8'],
  [Int16Array, 'int16'],
  [Int32Array, 'int32'],
  [BigInt64Array, 'int64'],
];

const fill = (name) => ({
  name,
  weight: 3,
  run(world, draw) {
    const shape = draw.shape();
    const dtype = draw.dtype();
    const make = world.torch[name];
    const tensor = name === 'full' ? make(shape, 1, { dtype }) : make(shape, { dtype });
    return world.result(`torch.${name}(${text(shape)}, ${dtype})`, tensor, Impl.fresh(shape, dtype));
  },
});

const like = (name) => ({
  name,
  weight: 1,
  run(world, draw) {
    const handle = world.some(draw, (impl) => isPlain(impl) && isSmall(impl));
    if (handle === null) return false;
    const { impl, tensor, number } = handle;
    const strides = stridesLike(impl);
    return world.result(`torch.${name}(#${number})`, world.torch[name](tensor), fresh(impl, { strides }));
  },
});

const fresh = (impl, options) => Impl.fresh(impl.shape, impl.dtype, options);
/** Results keep their operands' strides if possible, even for dimensions of size 1: known only for plain operands. */
const isOrderly = ({ shape, strides }) => strides !== null && same(strides, contiguousStrides(shape));
const stridesLike = (...impls) => (impls.every(isOrderly) ? undefined : null);

module.exports = [
  ...['empty', 'zeros', 'ones', 'full'].map(fill),
  ...['zerosLike', 'emptyLike'].map(like),
  {
    name: 'tensor',
    weight: 4,
    run(world, draw) {
      const [type, own] = draw.pick(arrays);
      const count = draw.below(20);
      // With a conversion there is an intermediate tensor, which must be freed.
      const dtype = draw.once(3) ? draw.pick(dtypes) : own;
      const tensor = world.torch.tensor(new type(count), { dtype });
      return world.result(`torch.tensor(${type.name}(${count}), ${dtype})`, tensor, Impl.fresh([count], dtype));
    },
  },
  {
    name: 'nested data',
    weight: 1,
    run(world, draw) {
      const rows = Array.from({ length: 1 + draw.below(3) }, () => [1, 2, 3]);
      const requested = draw.pick(['float32', 'float64', 'int32', 'float16']);
      const tensor = world.torch.tensor(rows, { dtype: requested });
      return world.result(`torch.tensor(${text(rows)}, ${requested})`, tensor, Impl.fresh([rows.length, 3], requested));
    },
  },
  {
    name: 'big',
    weight: 1,
    run(world, draw) {
      const shape = [1 + draw.below(8), 1 << 20];
      const dtype = draw.dtype();
      return world.result(
        `torch.empty(${text(shape)}, ${dtype})`,
        world.torch.empty(shape, { dtype }),
        Impl.fresh(shape, dtype),
      );
    },
  },
  {
    name: 'meta',
    weight: 1,
    run(world, draw) {
      const shape = [2 ** draw.below(40), draw.below(3)];
      const tensor = world.torch.empty(shape, { device: 'meta' });
      return world.result(
        `torch.empty(${text(shape)}, meta)`,
        tensor,
        Impl.fresh(shape, 'float32', { device: 'meta' }),
      );
    },
  },
  {
    name: 'meta op',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, ({ storage }) => storage.device === 'meta');
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      if (draw.below(2) === 0) {
        return world.result(`#${number}.add(1)`, tensor.add(1), fresh(impl, { device: 'meta' }));
      }
      const view = impl.view([...impl.shape, 1], [...impl.strides, 1]);
      return world.result(`#${number}.unsqueeze(-1)`, tensor.unsqueeze(-1), view);
    },
  },
  {
    name: 'fromTypedArray',
    weight: 3,
    run(world, draw) {
      const [type, dtype] = draw.pick(arrays);
      const count = draw.below(40);
      const array = new type(count);
      const shape = draw.below(2) === 0 || count === 0 ? [count] : [1, count];
      const tensor = world.torch.fromTypedArray(array, shape);
      const storage = new Storage(array.byteLength, { borrowed: true });
      const impl = new Impl({ storages: [storage], shape, dtype, strides: contiguousStrides(shape) });
      return world.result(`torch.fromTypedArray(${type.name}(${count}), ${text(shape)})`, tensor, impl);
    },
  },
  {
    name: 'clone',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isPlain(impl) && isSmall(impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      return world.result(`#${number}.clone()`, tensor.clone(), fresh(impl, { strides: stridesLike(impl) }));
    },
  },
  {
    name: 'to',
    weight: 3,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isPlain(impl) && isSmall(impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const dtype = draw.dtype();
      // The same dtype gives the same tensor: another handle of the same Impl.
      const result = dtype === impl.dtype ? impl : Impl.fresh(impl.shape, dtype, { strides: stridesLike(impl) });
      return world.result(`#${number}.to(${dtype})`, tensor.to(dtype), result);
    },
  },
  {
    name: 'binary',
    weight: 4,
    run(world, draw) {
      const a = world.some(draw, (impl) => isPlain(impl) && isSmall(impl));
      if (a === null) return false;
      const b = world.some(draw, (i) => isPlain(i) && i.dtype === a.impl.dtype && same(i.shape, a.impl.shape));
      const name = draw.pick(['add', 'mul', 'eq']);
      const dtype = name === 'eq' ? 'bool' : a.impl.dtype;
      const result = Impl.fresh(a.impl.shape, dtype, { strides: stridesLike(a.impl, b.impl) });
      return world.result(`#${a.number}.${name}(#${b.number})`, a.tensor[name](b.tensor), result);
    },
  },
  {
    name: 'cat',
    weight: 3,
    run(world, draw) {
      const a = world.some(draw, (impl) => isPlain(impl) && isSmall(impl) && impl.shape.length > 0);
      if (a === null) return false;
      const fits = (i) => isPlain(i) && i.dtype === a.impl.dtype && same(i.shape, a.impl.shape);
      const list = [a];
      for (let more = draw.below(3); more > 0; more--) list.push(world.some(draw, fits));
      const strides = stridesLike(...list.map(({ impl }) => impl));
      const dim = draw.below(a.impl.shape.length);
      const stack = draw.below(2) === 1;
      const shape = [...a.impl.shape];
      if (stack) shape.splice(dim, 0, list.length);
      else shape[dim] *= list.length;
      const name = stack ? 'stack' : 'cat';
      const tensor = world.torch[name](
        list.map((handle) => handle.tensor),
        dim,
      );
      const what = `torch.${name}([${list.map(({ number }) => `#${number}`).join(', ')}], ${dim})`;
      return world.result(what, tensor, Impl.fresh(shape, a.impl.dtype, { strides }));
    },
  },
  {
    name: 'sort',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (i) => isPlain(i) && isFloat(i) && i.numel < 1000 && i.shape.length > 0);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const { values, indices } = tensor.sort(draw.below(impl.shape.length));
      const strides = null;
      world.result(`values of #${number}.sort`, values, fresh(impl, { strides }));
      return world.result(`indices of #${number}.sort`, indices, Impl.fresh(impl.shape, 'int64', { strides }));
    },
  },
  {
    name: 'reduce',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isPlain(impl) && isFloat(impl) && isSmall(impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      return world.result(`#${number}.sum()`, tensor.sum(), Impl.fresh([], impl.dtype));
    },
  },
  {
    name: 'read',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isPlain(impl) && numelOf(impl.shape) < 100);
      if (handle === null) return false;
      handle.tensor.toArray();
      String(handle.tensor);
      return world.say(`#${handle.number}.toArray() and toString()`);
    },
  },
];
