/** Tokens, within this thread: share, take, dispose. (run.cjs drops them.) */
'use strict';

const { isSmall } = require('../world.cjs');

/** The maximum number of tokens in a run. */
const MOST = 8;

const hasToken = ({ token }) => token !== null;
/** The model's knowledge of a shared copy: a sparse gradient may change under its handles. */
const isClear = (impl) => !impl.ofGrad && !impl.graph?.table;
const isRefused = (impl) =>
  (impl.graph !== null && !impl.graph.leaf) || impl.storages.some((storage) => storage.borrowed);

function disposeToken(world, token) {
  token.token.dispose?.(); // one from the other thread lacks dispose
  if (token.token.dispose === undefined) return false;
  world.model.sharing.dispose(token);
  world.revoked = token.token;
  return world.say(`token ${token.number} .dispose()`);
}

module.exports = [
  {
    name: 'share',
    weight: 5,
    run(world, draw) {
      const { sharing } = world.model;
      const handle = world.some(draw, isClear);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      if (isRefused(impl)) return world.refused(`#${number}.share()`, 'ERR_TORCH_SHARED', () => tensor.share());
      if (sharing.tokens.size >= MOST) {
        const old = world.someToken(draw, ({ token }) => token?.dispose !== undefined);
        return old !== null && disposeToken(world, old);
      }
      const token = sharing.share(impl);
      token.token = tensor.share();
      return world.say(`token ${token.number} = #${number}.share()`);
    },
  },
  {
    name: 'fromShared',
    weight: 4,
    run(world, draw) {
      const token = world.someToken(draw, hasToken);
      if (token === null) return false;
      const copy = draw.once(4) ? structuredClone({ token: token.token }).token : token.token;
      return world.result(`torch.fromShared(token ${token.number})`, world.torch.fromShared(copy), token.taken());
    },
  },
  {
    name: 'dispose of a token',
    weight: 1,
    run(world, draw) {
      const token = world.someToken(draw, ({ token }) => token?.dispose !== undefined);
      if (token === null) return false;
      return disposeToken(world, token);
    },
  },
  {
    name: 'fromShared after dispose',
    weight: 2,
    run(world) {
      const { revoked } = world;
      if (revoked === undefined) return false;
      return world.refused('torch.fromShared(a disposed token)', 'ERR_TORCH_SHARED', () =>
        world.torch.fromShared(revoked),
      );
    },
  },
  {
    name: 'write through a token',
    weight: 1,
    run(world, draw) {
      // The taken tensor lives briefly, and does not share the others' version.
      const token = world.someToken(draw, (one) => hasToken(one) && one.as.layout === 'strided' && !one.isLeaf);
      if (token === null || !isSmall(token.as) || token.storages[0].readonly || token.taken().overlap !== false) {
        return false;
      }
      world.torch.scope(() => void world.torch.fromShared(token.token).fill_(1));
      return world.say(`torch.scope(() => torch.fromShared(token ${token.number}).fill_(1))`);
    },
  },
];

module.exports.isClear = isClear;
module.exports.isRefused = isRefused;
module.exports.MOST = MOST;
