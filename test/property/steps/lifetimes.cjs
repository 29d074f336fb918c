/** Ends of handles: dispose, scopes that are opened and closed by hand, keep, errors. */
'use strict';

const { text, isPlain, isSmall } = require('../world.cjs');

const isAny = () => true;

/** Up to `most` existing handles. */
function several(world, draw, most) {
  const list = new Set();
  for (let i = 1 + draw.below(most); i > 0; i--) {
    const handle = world.some(draw, isAny);
    if (handle !== null) list.add(handle);
  }
  return [...list];
}

const names = (handles) => handles.map(({ number }) => `#${number}`).join(', ');

/** Tensors inside other values, at some depth, one of them twice. */
function nested(handles) {
  const [first, ...rest] = handles.map(({ tensor }) => tensor);
  const value = { first, list: [first, { deep: new Map([['rest', new Set(rest)]]) }], none: null, number: 1 };
  value.list.push(value);
  return value;
}

module.exports = [
  {
    name: 'dispose',
    weight: 14,
    run(world, draw) {
      const handle = world.some(draw);
      if (handle === null) return false;
      world.dispose(handle);
      return world.say(`#${handle.number}.dispose()`);
    },
  },
  {
    name: 'dispose again',
    weight: 1,
    run(world, draw) {
      if (world.disposed.length === 0) return false;
      draw.pick(world.disposed).dispose();
      return world.say('a disposed tensor .dispose()');
    },
  },
  {
    name: 'disposeAll',
    weight: 1,
    run(world, draw) {
      const handles = several(world, draw, 4);
      if (handles.length === 0) return false;
      world.torch.disposeAll(nested(handles));
      for (const handle of handles) world.model.free(handle);
      return world.say(`torch.disposeAll(${names(handles)})`);
    },
  },
  {
    name: 'keep',
    weight: 1,
    run(world, draw) {
      const handles = several(world, draw, 2);
      if (handles.length === 0) return false;
      world.torch.keep(nested(handles));
      for (const handle of handles) world.model.move(handle, null);
      return world.say(`torch.keep(${names(handles)})`);
    },
  },
  {
    name: 'let go inside a scope',
    weight: 1,
    run(world, draw) {
      // Its scope owns it, so collections do not free it.
      if (world.model.current === null) return false;
      const handle = world.some(draw, isAny);
      if (handle === null || handle.scope === null || handle.guarded) return false;
      handle.tensor = null;
      return world.say(`#${handle.number} is out of reach, its scope owns it`);
    },
  },
  {
    name: 'use after dispose',
    weight: 1,
    run(world, draw) {
      if (world.disposed.length === 0) return false;
      const tensor = draw.pick(world.disposed);
      return world.refused('a disposed tensor .add(1)', 'ERR_TORCH_DISPOSED', () => tensor.add(1));
    },
  },
  {
    name: 'bad shape',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, isPlain);
      if (handle === null) return false;
      const { tensor, impl, number } = handle;
      const shape = [impl.numel + 1];
      return world.refused(`#${number}.reshape(${text(shape)})`, 'ERR_TORCH_RUNTIME', () => tensor.reshape(shape));
    },
  },
  {
    name: 'bad operand',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isPlain(impl) && isSmall(impl));
      if (handle === null) return false;
      const { tensor, number } = handle;
      const { torch } = world;
      world.refused(`#${number}.select(99, 0)`, 'ERR_TORCH_INDEX', () => tensor.select(99, 0));
      return world.refused(`torch.cat([#${number}, 'x'])`, 'ERR_TORCH_OVERLOAD', () => torch.cat([tensor, 'x']));
    },
  },
  {
    name: 'bad typed array',
    weight: 1,
    run(world) {
      const { torch } = world;
      return world.refused('fromTypedArray(Float32Array(4), [5])', 'ERR_TORCH_ARGUMENT', () =>
        torch.fromTypedArray(new Float32Array(4), [5]),
      );
    },
  },
  {
    name: 'no such memory',
    weight: 0.1,
    run(world) {
      const { torch } = world;
      return world.refused('torch.empty([2 ** 50])', 'ERR_TORCH_OUT_OF_MEMORY', () => torch.empty([2 ** 50]));
    },
  },
];

module.exports.several = several;
module.exports.nested = nested;
module.exports.names = names;
