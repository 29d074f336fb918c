/** Steps of another thread with its own and shared tensors. Each command ends before this thread continues. */
'use strict';

const { Storage, Impl } = require('../model.cjs');
const { contiguousStrides } = require('../shapes.cjs');
const { text, isPlain, isKnown, isSmall, isLoose, isWritable } = require('../world.cjs');
const { isClear, isRefused, MOST } = require('./tokens.cjs');
const { resize, become } = require('./writing.cjs');

/** The maximum number of handles of the other thread. */
const MAX_THERE = 12;

const hasToken = ({ token }) => token !== null;
const isThere = (token) => token.isThere && !token.inMail;

/** A step that adds a tensor to the other thread, which disposes one if it has too many. */
const gains = (name, weight, run) => ({
  name,
  weight,
  run(world, draw) {
    if (world.model.sharing.there.size >= MAX_THERE) return disposeThere(world, draw);
    return run(world, draw);
  },
});

function disposeThere(world, draw) {
  const handle = world.someThere(draw);
  if (handle === null) return false;
  world.peer.ask({ do: 'dispose', of: handle.number });
  world.model.sharing.there.delete(handle);
  return world.say(`there: #${handle.number}.dispose()`);
}

function refusedThere(world, what, code, command) {
  return world.refused(`there: ${what}`, code, () => world.peer.ask(command));
}

const makers = [
  [
    'add(1)',
    (impl) => isPlain(impl) && isSmall(impl) && impl.dtype !== 'bool',
    (impl) => Impl.fresh(impl.shape, impl.dtype, { strides: null }),
  ],
  [
    'clone()',
    (impl) => isPlain(impl) && isSmall(impl),
    (impl) => Impl.fresh(impl.shape, impl.dtype, { strides: null }),
  ],
  [
    'unsqueeze(0)',
    isKnown,
    (impl) => {
      const stride = impl.shape.length === 0 ? 1 : impl.shape[0] * impl.strides[0];
      return impl.view([1, ...impl.shape], [stride, ...impl.strides]);
    },
  ],
  [
    'detach()',
    isKnown,
    (impl) => {
      const result = impl.view(impl.shape, impl.strides);
      result.base = null;
      return result;
    },
  ],
];

module.exports = [
  gains('there: take', 4, (world, draw) => {
    const token = world.someToken(draw, hasToken);
    if (token === null) return false;
    return world.resultThere(
      `torch.fromShared(token ${token.number})`,
      { do: 'take', token: token.token },
      token.taken(),
    );
  }),
  gains('there: take in a scope', 2, (world, draw) => {
    const token = world.someToken(draw, (one) => hasToken(one) && one.as.layout === 'strided' && !one.isLeaf);
    if (token === null || token.as.strides === null || token.storages[0].device !== 'cpu') return false;
    const command = { do: 'takeInScope', token: token.token };
    const impl = makers[2][2](token.taken());
    return world.resultThere(`a view of token ${token.number}, out of a scope`, command, impl);
  }),
  {
    name: 'there: throw in a scope',
    weight: 1,
    run(world, draw) {
      const token = world.someToken(draw, (one) => hasToken(one) && one.as.layout === 'strided');
      if (token === null) return false;
      const command = { do: 'throwInScope', token: token.token };
      return refusedThere(world, `takes token ${token.number} in a scope`, 'ON_PURPOSE', command);
    },
  },
  {
    name: 'there: keep a token',
    weight: 2,
    run(world, draw) {
      const token = world.someToken(draw, (one) => hasToken(one) && !one.isThere);
      if (token === null) return false;
      const { number } = token;
      token.isThere = true;
      if (draw.below(2) === 0) {
        world.peer.ask({ do: 'keep', token: token.token, number });
        return world.say(`there: keeps token ${number}`);
      }
      world.peer.post({ token: token.token, number });
      token.inMail = true;
      world.model.sharing.mail.push(token);
      return world.say(`token ${number} goes into a message`);
    },
  },
  {
    name: 'there: read a message',
    weight: 4,
    run(world) {
      const token = world.model.sharing.mail.shift();
      if (token === undefined) return false;
      const number = world.peer.ask({ do: 'read' });
      if (number !== token.number) throw new Error(`read token ${number} for ${token.number}`);
      token.inMail = false;
      return world.say(`there: reads token ${number}`);
    },
  },
  gains('there: take a kept token', 4, (world, draw) => {
    const token = world.someToken(draw, isThere);
    if (token === null) return false;
    return world.resultThere(
      `torch.fromShared(token ${token.number}), kept`,
      { do: 'takeKept', number: token.number },
      token.taken(),
    );
  }),
  gains('there: make', 2, (world, draw) => {
    const [shape, dtype] = [draw.shape(3), draw.dtype()];
    return world.resultThere(
      `torch.ones(${text(shape)}, ${dtype})`,
      { do: 'make', shape, dtype },
      Impl.fresh(shape, dtype),
    );
  }),
  gains('there: fromTypedArray', 0.5, (world, draw) => {
    const shape = [draw.below(40)];
    const storages = [new Storage(4 * shape[0], { borrowed: true })];
    const impl = new Impl({ storages, shape, dtype: 'float32', strides: contiguousStrides(shape) });
    return world.resultThere(`torch.fromTypedArray(${text(shape)})`, { do: 'borrow', count: shape[0] }, impl);
  }),
  gains('there: op', 4, (world, draw) => {
    const [name, fits, result] = draw.pick(makers);
    const handle = world.someThere(draw, fits);
    if (handle === null) return false;
    return world.resultThere(`#${handle.number}.${name}`, { do: 'from', of: handle.number, name }, result(handle.impl));
  }),
  {
    name: 'there: write',
    weight: 2,
    run(world, draw) {
      const handle = world.someThere(draw, (impl) => isWritable(impl) && isSmall(impl));
      if (handle === null) return false;
      world.peer.ask({ do: 'write', of: handle.number });
      return world.say(`there: #${handle.number}.fill_(1)`);
    },
  },
  {
    name: 'there: resize_',
    weight: 2,
    run(world, draw) {
      const handle = world.someThere(draw, isLoose);
      if (handle === null) return false;
      const { impl, number } = handle;
      const shape = draw.shape(3);
      const command = { do: 'resize', of: number, shape };
      if (resize(impl, shape)) {
        world.peer.ask(command);
        return world.say(`there: #${number}.resize_(${text(shape)})`);
      }
      refusedThere(world, `#${number}.resize_(${text(shape)})`, 'ERR_TORCH_RUNTIME', command);
      world.peer.ask({ do: 'dispose', of: number });
      world.model.sharing.there.delete(handle);
      return world.say(`there: #${number}.dispose()`);
    },
  },
  {
    name: 'there: set_ to a tensor',
    weight: 2,
    run(world, draw) {
      const self = world.someThere(draw, isLoose);
      if (self === null) return false;
      const source = world.someThere(draw, (i) => isKnown(i) && i.dtype === self.impl.dtype);
      if (source === null) return false;
      world.peer.ask({ do: 'set', of: self.number, source: source.number });
      become(self.impl, source.impl);
      return world.say(`there: #${self.number}.set_(#${source.number})`);
    },
  },
  {
    name: 'there: backward',
    weight: 8,
    run(world, draw) {
      const handle = world.someThere(draw, (impl) => impl.graph !== null);
      if (handle === null) return false;
      world.peer.ask({ do: 'backward', of: handle.number });
      return world.say(`there: #${handle.number}.mul(2).sum().backward()`);
    },
  },
  {
    name: 'there: share',
    weight: 3,
    run(world, draw) {
      const { sharing } = world.model;
      const handle = world.someThere(draw, isClear);
      if (handle === null || sharing.tokens.size >= MOST) return false;
      const { impl, number } = handle;
      const command = { do: 'share', of: number };
      if (isRefused(impl)) return refusedThere(world, `#${number}.share()`, 'ERR_TORCH_SHARED', command);
      const token = sharing.share(impl);
      token.token = world.peer.ask(command);
      return world.say(`token ${token.number} = #${number}.share(), there`);
    },
  },
  { name: 'there: dispose', weight: 4, run: disposeThere },
  {
    name: 'there: drop',
    weight: 0.5,
    run(world, draw) {
      const { sharing } = world.model;
      const handles = [...new Set([world.someThere(draw), world.someThere(draw)])].filter((one) => one !== null);
      const tokens = [...sharing.tokens].filter((token) => isThere(token) && draw.below(2) === 0);
      if (handles.length + tokens.length === 0) return false;
      const numbers = (list) => list.map(({ number }) => number);
      world.peer.ask({ do: 'drop', handles: numbers(handles), numbers: numbers(tokens) });
      for (const handle of handles) sharing.there.delete(handle);
      for (const token of tokens) token.isThere = false;
      sharing.collect();
      world.run.collectUntil();
      return world.say(`there: #${numbers(handles)} and tokens ${numbers(tokens)} out of reach, gc()`);
    },
  },
  {
    name: 'what V8 is told',
    weight: 10,
    run(world) {
      if (world.peer.worker === null) return false;
      world.run.compareTold();
      return world.say('what V8 is told in each thread');
    },
  },
];
