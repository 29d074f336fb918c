/** Writes into tensors: values in place, other sizes (resize_, out=), other storages (set_, set_data). */
'use strict';

const { Storage } = require('../model.cjs');
const { contiguousStrides, numelOf, same } = require('../shapes.cjs');
const { text, isPlain, isKnown, isWritable, isLoose, isSmall, isStrided } = require('../world.cjs');

const wrote = (impl) => {
  impl.version.count++;
};

/** resize_ of an Impl: false if its storage would have to grow but cannot. */
function resize(impl, shape) {
  if (same(impl.shape, shape)) return true;
  const count = numelOf(shape);
  const bytes = count === 0 ? 0 : (impl.offset + count) * impl.itemSize;
  if (bytes > impl.storage.bytes) {
    if (!impl.storage.grows) return false;
    impl.storage.bytes = bytes;
  }
  impl.shape = shape;
  impl.strides = contiguousStrides(shape);
  return true;
}

/** Takes over another Impl's memory. */
function become(impl, { storages, shape, strides, offset }) {
  Object.assign(impl, { storages, shape, strides, offset, moved: impl.base !== null });
}

/** A tensor whose resize failed has the new shape and the old bytes (a property of libtorch), so it must not be read again. */
function disposeBroken(world, impl) {
  for (const handle of [...world.model.handles]) {
    if (handle.impl !== impl) continue;
    if (handle.tensor === null) throw new Error('dropped tensors are not resized');
    world.dispose(handle);
  }
}

const inPlace = {
  zero_: (tensor) => tensor.zero_(),
  fill_: (tensor) => tensor.fill_(1),
  add_: (tensor, impl) => (impl.dtype === 'bool' ? tensor.logicalNot_() : tensor.add_(1)),
  mul_: (tensor, impl) => (impl.dtype === 'bool' ? tensor.zero_() : tensor.mul_(1)),
};

const isAlone = (world, impl) =>
  [...world.model.handles].every((handle) => handle.impl !== impl || handle.tensor !== null);

module.exports = [
  ...Object.keys(inPlace).map((name) => ({
    name,
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isWritable(impl) && isSmall(impl));
      if (handle === null) return false;
      inPlace[name](handle.tensor, handle.impl);
      wrote(handle.impl);
      return world.say(`#${handle.number}.${name}`);
    },
  })),
  {
    name: 'foreach in place',
    weight: 1,
    run(world, draw) {
      const list = [0, 1].map(() => world.some(draw, (i) => isWritable(i) && isSmall(i) && i.dtype !== 'bool'));
      if (list.includes(null)) return false;
      world.aten._foreach_add_.Scalar(
        list.map((handle) => handle.tensor),
        1,
      );
      for (const { impl } of list) wrote(impl);
      return world.say(`_foreach_add_([${list.map(({ number }) => `#${number}`).join(', ')}], 1)`);
    },
  },
  {
    name: 'copy_',
    weight: 2,
    run(world, draw) {
      const target = world.some(draw, (impl) => isWritable(impl) && isSmall(impl));
      if (target === null) return false;
      const { impl } = target;
      const source = world.some(
        draw,
        (i) => isPlain(i) && same(i.shape, impl.shape) && i.storage !== impl.storage && !i.dtype.startsWith('complex'),
      );
      if (source === null) return false;
      target.tensor.copy_(source.tensor);
      wrote(impl);
      return world.say(`#${target.number}.copy_(#${source.number})`);
    },
  },
  {
    name: 'set by index',
    weight: 1,
    run(world, draw) {
      const handle = world.some(
        draw,
        (i) => isWritable(i) && isKnown(i) && isSmall(i) && i.numel > 0 && i.shape.length > 0,
      );
      if (handle === null) return false;
      handle.tensor.set(draw.below(handle.impl.shape[0]), 1);
      wrote(handle.impl);
      return world.say(`#${handle.number}.set(…, 1)`);
    },
  },
  {
    name: 'overlapping write',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (i) => isPlain(i) && i.overlap === true && i.numel > 0 && i.dtype !== 'bool');
      if (handle === null) return false;
      return world.refused(`#${handle.number}.add_(1)`, 'ERR_TORCH_RUNTIME', () => handle.tensor.add_(1));
    },
  },
  {
    name: 'resize_',
    weight: 5,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isLoose(impl) && isAlone(world, impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const shape = draw.shape(3);
      if (resize(impl, shape)) {
        tensor.resize_(shape);
        return world.say(`#${number}.resize_(${text(shape)})`);
      }
      world.refused(`#${number}.resize_(${text(shape)})`, 'ERR_TORCH_RUNTIME', () => tensor.resize_(shape));
      disposeBroken(world, impl);
      return world.say(`#${number}.dispose(), and other handles on it`);
    },
  },
  {
    name: 'meta resize_',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => impl.storage.device === 'meta' && isAlone(world, impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const shape = [draw.below(1000)];
      if (resize(impl, shape)) {
        tensor.resize_(shape);
        return world.say(`#${number}.resize_(${text(shape)})`);
      }
      world.refused(`#${number}.resize_(${text(shape)})`, 'ERR_TORCH_RUNTIME', () => tensor.resize_(shape));
      disposeBroken(world, impl);
      return world.say(`#${number}.dispose(), and other handles on it`);
    },
  },
  {
    name: 'out=',
    weight: 4,
    run(world, draw) {
      const a = world.some(draw, (i) => isPlain(i) && i.contiguous && isSmall(i) && i.dtype !== 'bool');
      if (a === null) return false;
      const fits = (i) => isLoose(i) && i.dtype === a.impl.dtype && i.storage !== a.impl.storage && isAlone(world, i);
      const out = world.some(draw, fits);
      if (out === null) return false;
      const what = `torch.add(#${a.number}, 1, { out: #${out.number} })`;
      if (resize(out.impl, a.impl.shape)) {
        const result = world.torch.add(a.tensor, 1, { out: out.tensor });
        if (result !== out.tensor) throw new Error('out= gives its argument back');
        if (out.impl.numel === 0) out.impl.strides = null; // without elements the op decides
        wrote(out.impl);
        return world.say(what);
      }
      world.refused(what, 'ERR_TORCH_RUNTIME', () => world.torch.add(a.tensor, 1, { out: out.tensor }));
      disposeBroken(world, out.impl);
      return world.say(`#${out.number}.dispose(), and other handles on it`);
    },
  },
  {
    name: 'out= that fails',
    weight: 1,
    run(world, draw) {
      const a = world.some(draw, (i) => isPlain(i) && i.contiguous && i.shape.length === 1 && i.numel < 1000);
      if (a === null) return false;
      const fits = (i) => isLoose(i) && i.dtype === a.impl.dtype && i.storage !== a.impl.storage && isAlone(world, i);
      const out = world.some(draw, (i) => fits(i) && i.storage.grows);
      if (out === null) return false;
      const index = world.torch.tensor([0n, 9999n]);
      world.refused(`indexSelect(#${a.number}, 0, [0, 9999], { out: #${out.number} })`, 'ERR_TORCH_INDEX', () =>
        world.torch.indexSelect(a.tensor, 0, index, { out: out.tensor }),
      );
      index.dispose();
      // It was resized before the index was checked.
      resize(out.impl, [2]);
      return true;
    },
  },
  {
    name: 'set_ to a tensor',
    weight: 3,
    run(world, draw) {
      const self = world.some(draw, (impl) => isLoose(impl) && isAlone(world, impl));
      if (self === null) return false;
      const source = world.some(draw, (i) => isKnown(i) && i.dtype === self.impl.dtype);
      world.aten.set_.source_Tensor(self.tensor, source.tensor);
      become(self.impl, source.impl);
      wrote(self.impl);
      return world.say(`#${self.number}.set_(#${source.number})`);
    },
  },
  {
    name: 'set_ to a storage',
    weight: 2,
    run(world, draw) {
      const self = world.some(draw, (impl) => isLoose(impl) && isAlone(world, impl));
      if (self === null) return false;
      const source = world.some(draw, isStrided);
      const { storage } = source.impl;
      const { impl } = self;
      const shape = [1 + draw.below(50)];
      const offset = draw.below(10);
      const needed = (offset + shape[0]) * impl.itemSize;
      const whole = draw.below(2) === 0;
      // If sizes do not change, libtorch does not check the bytes, and such a tensor would exceed them.
      if (!whole && needed > storage.bytes && same(impl.shape, shape)) return false;
      const count = Math.floor(storage.bytes / impl.itemSize);
      // The same if the whole has the tensor's size already: it keeps its strides.
      const kept = same(impl.shape, [count]);
      if (whole && kept && !impl.contiguous) return false;
      const bytes = source.tensor.storage();
      if (whole) {
        world.aten.set_.source_Storage(self.tensor, bytes);
        become(impl, { storages: [storage], shape: [count], strides: kept ? impl.strides : [1], offset: 0 });
        wrote(impl);
        bytes.dispose();
        return world.say(`#${self.number}.set_(storage of #${source.number})`);
      }
      // With explicit sizes: a storage that is too small grows, also for the source.
      const what = `#${self.number}.set_(storage of #${source.number}, ${offset}, ${text(shape)}, [1])`;
      const call = () => world.aten.set_.source_Storage_storage_offset(self.tensor, bytes, offset, shape, [1]);
      if (needed > storage.bytes && !storage.grows) {
        world.refused(what, 'ERR_TORCH_RUNTIME', call);
        // It has the storage already, which its views hold as their base.
        become(impl, { storages: [storage], shape, strides: [1], offset });
        disposeBroken(world, impl);
      } else {
        call();
        storage.bytes = Math.max(storage.bytes, needed);
        become(impl, { storages: [storage], shape, strides: [1], offset });
        wrote(impl);
      }
      bytes.dispose();
      return world.say(what);
    },
  },
  {
    name: 'set_ to nothing',
    weight: 1,
    run(world, draw) {
      const self = world.some(draw, (impl) => isLoose(impl) && isAlone(world, impl));
      if (self === null) return false;
      world.aten.set_.default(self.tensor);
      become(self.impl, { storages: [new Storage(0)], shape: [0], strides: [1], offset: 0 });
      wrote(self.impl);
      return world.say(`#${self.number}.set_()`);
    },
  },
  {
    name: 'set_ across devices',
    weight: 1,
    run(world, draw) {
      const self = world.some(draw, isLoose);
      const source = world.some(draw, ({ storage }) => storage.device === 'meta');
      if (self === null || source === null) return false;
      return world.refused(`#${self.number}.set_(#${source.number}, on meta)`, 'ERR_TORCH_RUNTIME', () =>
        world.aten.set_.source_Tensor(self.tensor, source.tensor),
      );
    },
  },
  {
    name: 'set_data',
    weight: 2,
    run(world, draw) {
      const self = world.some(draw, (impl) => isLoose(impl));
      if (self === null) return false;
      const source = world.some(draw, isKnown);
      world.aten.set_data.default(self.tensor, source.tensor);
      become(self.impl, source.impl);
      self.impl.dtype = source.impl.dtype;
      return world.say(`#${self.number}.data = #${source.number}`);
    },
  },
];

module.exports.resize = resize;
module.exports.become = become;
