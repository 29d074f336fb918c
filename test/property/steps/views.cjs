/** New handles of existing storages. */
'use strict';

const { Impl } = require('../model.cjs');
const { viewStrides } = require('../shapes.cjs');
const { text, isKnown, isPlain, isSmall } = require('../world.cjs');

/** A step on one tensor with known strides; `apply` gives the printed call, the tensor and its Impl, or null. */
const step = (name, weight, apply, fits = () => true) => ({
  name,
  weight,
  run(world, draw) {
    const handle = world.some(draw, (impl) => isKnown(impl) && fits(impl));
    if (handle === null) return false;
    const made = apply(handle.tensor, handle.impl, draw, world);
    if (made === null) return false;
    const [what, tensor, result] = made;
    if (!Array.isArray(tensor)) return world.result(`#${handle.number}.${what}`, tensor, result);
    world.say(`#${handle.number}.${what}, of which:`);
    for (const [i, each] of tensor.entries()) world.result(`[${i}]`, each, result[i]);
    return true;
  },
});

const hasDims = (impl) => impl.shape.length > 0;

/** Another shape with the same number of elements. */
function otherShape(impl, draw) {
  const count = impl.numel;
  const shapes = [[count], [1, count], [count, 1]];
  if (count > 0 && count % 2 === 0) shapes.push([2, count / 2], [count / 2, 2]);
  if (count > 0 && count % 3 === 0) shapes.push([count / 3, 1, 3]);
  if (count === 1) shapes.push([]);
  if (count === 0) shapes.push([0, 5]);
  return draw.pick(shapes);
}

function narrowed(impl, dim, start, length, step = 1) {
  const shape = impl.shape.with(dim, length);
  const strides = impl.strides.with(dim, impl.strides[dim] * step);
  return impl.view(shape, strides, impl.offset + start * impl.strides[dim]);
}

function selected(impl, dim, index) {
  const offset = impl.offset + index * impl.strides[dim];
  return impl.view(impl.shape.toSpliced(dim, 1), impl.strides.toSpliced(dim, 1), offset);
}

/** The parts of a dimension, each of length `size` except the last. */
function parts(impl, dim, size) {
  const result = [];
  for (let start = 0; start < impl.shape[dim]; start += size) {
    result.push(narrowed(impl, dim, start, Math.min(size, impl.shape[dim] - start)));
  }
  return result;
}

module.exports = [
  step('view', 3, (tensor, impl, draw, world) => {
    const shape = otherShape(impl, draw);
    const strides = viewStrides(impl.shape, impl.strides, shape);
    if (strides !== null) return [`view(${text(shape)})`, tensor.view(shape), impl.view(shape, strides)];
    world.refused(`view(${text(shape)}) of ${text(impl.shape)}`, 'ERR_TORCH_RUNTIME', () => tensor.view(shape));
    return null;
  }),
  step(
    'reshape',
    2,
    (tensor, impl, draw) => {
      const shape = otherShape(impl, draw);
      const strides = viewStrides(impl.shape, impl.strides, shape);
      const result = strides === null ? Impl.fresh(shape, impl.dtype) : impl.view(shape, strides);
      return [`reshape(${text(shape)})`, tensor.reshape(shape), result];
    },
    isSmall,
  ),
  step(
    'contiguous',
    2,
    (tensor, impl) => [
      'contiguous()',
      tensor.contiguous(),
      impl.contiguous ? impl : Impl.fresh(impl.shape, impl.dtype),
    ],
    isSmall,
  ),
  step(
    'select',
    2,
    (tensor, impl, draw) => {
      const dim = draw.below(impl.shape.length);
      if (impl.shape[dim] === 0) return null;
      const index = draw.below(impl.shape[dim]);
      return [`select(${dim}, ${index})`, tensor.select(dim, index), selected(impl, dim, index)];
    },
    hasDims,
  ),
  step(
    'slice',
    3,
    (tensor, impl, draw) => {
      const dim = draw.below(impl.shape.length);
      const start = draw.below(impl.shape[dim] + 1);
      const stop = start + draw.below(impl.shape[dim] - start + 1);
      const by = 1 + draw.below(3);
      const result = narrowed(impl, dim, start, Math.ceil((stop - start) / by), by);
      return [`slice(${dim}, ${start}, ${stop}, ${by})`, tensor.slice(dim, start, stop, by), result];
    },
    hasDims,
  ),
  step(
    'at',
    3,
    (tensor, impl, draw, world) => {
      if (impl.shape[0] === 0) return null;
      const index = draw.below(impl.shape[0]);
      if (draw.below(2) === 0) return [`at(${index})`, tensor.at(index), selected(impl, 0, index)];
      const result = narrowed(impl, 0, index, impl.shape[0] - index);
      const shape = [1, ...result.shape];
      // The new dimension comes first, before the next one is split.
      const strides = [impl.shape[0] * impl.strides[0], ...result.strides];
      const view = result.view(shape, strides);
      return [`at(null, slice(${index}))`, tensor.at(null, world.torch.slice(index)), view];
    },
    hasDims,
  ),
  step(
    'at with a list',
    2,
    (tensor, impl) => {
      if (impl.shape[0] === 0) return null;
      const shape = [3, ...impl.shape.slice(1)];
      return ['at([0, 0, -1])', tensor.at([0, 0, -1]), Impl.fresh(shape, impl.dtype, { strides: null })];
    },
    (impl) => hasDims(impl) && isSmall(impl),
  ),
  step(
    'transpose',
    2,
    (tensor, impl, draw) => {
      const [a, b] = [draw.below(impl.shape.length), draw.below(impl.shape.length)];
      const swap = (list) => list.with(a, list[b]).with(b, list[a]);
      return [`transpose(${a}, ${b})`, tensor.transpose(a, b), impl.view(swap(impl.shape), swap(impl.strides))];
    },
    hasDims,
  ),
  step('permute', 1, (tensor, impl) => {
    const dims = impl.shape.map((_, i) => i).reverse();
    const turn = (list) => dims.map((dim) => list[dim]);
    return [`permute(${text(dims)})`, tensor.permute(dims), impl.view(turn(impl.shape), turn(impl.strides))];
  }),
  step('expand', 2, (tensor, impl, draw) => {
    const times = draw.below(5);
    const shape = [times, ...impl.shape];
    return [`expand(${text(shape)})`, tensor.expand(shape), impl.view(shape, [0, ...impl.strides])];
  }),
  step('unsqueeze', 2, (tensor, impl) => {
    const stride = impl.shape.length === 0 ? 1 : impl.shape[0] * impl.strides[0];
    return ['unsqueeze(0)', tensor.unsqueeze(0), impl.view([1, ...impl.shape], [stride, ...impl.strides])];
  }),
  step('squeeze', 1, (tensor, impl) => {
    const kept = impl.shape.map((_, i) => i).filter((i) => impl.shape[i] !== 1);
    const only = (list) => kept.map((i) => list[i]);
    return ['squeeze()', tensor.squeeze(), impl.view(only(impl.shape), only(impl.strides))];
  }),
  step('asStrided', 3, (tensor, impl, draw) => {
    const capacity = Math.floor(impl.storage.bytes / impl.itemSize);
    if (capacity === 0) return null;
    const offset = draw.below(capacity);
    const stride = draw.below(4);
    const most = stride === 0 ? 5 : Math.floor((capacity - 1 - offset) / stride) + 1;
    const shape = [1 + draw.below(most)];
    const result = impl.view(shape, [stride], offset);
    return [`asStrided(${text(shape)}, [${stride}], ${offset})`, tensor.asStrided(shape, [stride], offset), result];
  }),
  step('storage', 2, (tensor, impl) => {
    const bytes = impl.storage.bytes;
    // A different dtype on the same bytes: autograd does not see writes through it.
    const result = new Impl({ storages: impl.storages, shape: [bytes], dtype: 'uint8', strides: [1] });
    return ['storage()', tensor.storage(), result];
  }),
  step(
    'split',
    2,
    (tensor, impl, draw) => {
      const dim = draw.below(impl.shape.length);
      if (impl.shape[dim] === 0 || impl.shape[dim] > 100) return null;
      const size = 1 + draw.below(4);
      if (draw.below(2) === 0) return [`split(${size}, ${dim})`, tensor.split(size, dim), parts(impl, dim, size)];
      const each = Math.ceil(impl.shape[dim] / size);
      return [`chunk(${size}, ${dim})`, tensor.chunk(size, dim), parts(impl, dim, each)];
    },
    (impl) => hasDims(impl) && impl.shape.every((size) => size < 30),
  ),
  step(
    'unbind',
    2,
    (tensor, impl, draw) => {
      const dim = draw.below(impl.shape.length);
      const results = Array.from({ length: impl.shape[dim] }, (_, i) => selected(impl, dim, i));
      return [`unbind(${dim})`, tensor.unbind(dim), results];
    },
    (impl) => hasDims(impl) && impl.shape.every((size) => size < 10),
  ),
  step('viewAsReal', 1, (tensor, impl) => {
    if (!impl.dtype.startsWith('complex')) return null;
    const dtype = impl.dtype === 'complex64' ? 'float32' : 'float64';
    const strides = [...impl.strides.map((stride) => 2 * stride), 1];
    return ['viewAsReal()', tensor.viewAsReal(), impl.view([...impl.shape, 2], strides, 2 * impl.offset, dtype)];
  }),
  ...['detach', 'alias'].map((name) => ({
    name,
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, name === 'detach' ? (impl) => impl.layout === 'strided' : isPlain);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const result = impl.view(impl.shape, impl.strides);
      // To autograd a detached tensor is not a view: it does not keep a base, and is the base of its own views.
      if (name === 'detach') result.base = null;
      return world.result(`#${number}.${name}()`, tensor[name](), result);
    },
  })),
  {
    name: 'broadcastTensors',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, isKnown);
      if (handle === null || handle.impl.numel === 0) return false;
      const { impl, tensor, number } = handle;
      const shape = [3, ...impl.shape];
      const one = Impl.fresh([], 'float32');
      const wide = Impl.fresh(shape, 'float32');
      const others = [world.torch.empty(shape), world.torch.ones([])];
      world.result(`torch.empty(${text(shape)})`, others[0], wide);
      world.result('torch.ones([])', others[1], one);
      const made = world.torch.broadcastTensors([tensor, ...others]);
      world.result(`[0] of broadcastTensors of #${number} and these`, made[0], impl.view(shape, [0, ...impl.strides]));
      world.result('[1]', made[1], wide);
      // A tensor that already has the shape is returned: another handle of the same Impl.
      return world.result('[2]', made[2], one.view(shape, new Array(shape.length).fill(0)));
    },
  },
];
