/**
 * Actions of user code during a call, and the forms of arguments that run it. Plain Node, for child processes.
 */
'use strict';

const assert = require('node:assert');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');

/** `Flag.Recording` of lib/generated/codes.d.ts. */
const RECORDING = 5;
/** What state() gives. */
const STATE = ['the current scope', 'recording', 'grad mode', 'inference mode', 'autocast'];

/** `lib` is the folder of the built library. */
function hostileKit(lib) {
  const torch = require(path.join(lib, 'index.js'));
  const { native } = require(path.join(lib, 'addon/native.js'));
  const { collectAll } = require(path.join(lib, 'memory/collector.js'));
  const base = torch.keep(
    torch.tensor([
      [1, 2],
      [3, 4],
    ]),
  );
  const mine = new Error('of the callback');

  /** The leftovers of one run of a callback, and its end. */
  class Run {
    constructor(name, victim) {
      this.name = name;
      this.victim = victim;
      this.runs = 0;
      this.kept = [];
      this.promises = [];
      this.scopes = [];
      this.over = false;
    }
    /** The callback itself. */
    fire() {
      if (this.over) return; // the test's own accesses to a Proxy
      this.runs++;
      actions[this.name](this);
    }
  }

  const actions = {
    dispose(run) {
      run.victim?.();
    },
    allocate(run) {
      run.kept.push(torch.full([3], 7));
    },
    'nested op with lists'(run) {
      const nested = () =>
        base
          .sum([0])
          .repeat([1, 2])
          .sum([0, 1], {
            get keepdim() {
              return false;
            },
          });
      run.kept.push(torch.scope(nested));
    },
    '200 calls'() {
      torch.scope(() => {
        for (let i = 0; i < 200; i++) base.roll([1, 1], [0, 1]);
      });
    },
    'nested torch.async'(run) {
      run.promises.push(
        torch.async.mul(base, 100, {
          get out() {
            return undefined;
          },
        }),
      );
    },
    throw() {
      throw mine;
    },
    'scope left open'(run) {
      run.scopes.push(torch.openScope());
      base.add(1);
    },
    collection() {
      collectAll();
    },
  };

  const state = () => {
    const { current } = native.scopesNow;
    const autocast = torch.isAutocastCpuEnabled();
    return [current, native.flags[RECORDING], torch.isGradEnabled(), torch.isInferenceModeEnabled(), autocast];
  };

  /** After a call, in its enclosing scope: the callback's tensors exist and belong to the program, and state is restored. */
  function checkAfter(run, before) {
    for (const tensor of run.kept.splice(0)) {
      assert(!tensor.disposed, 'what the callback made is gone');
      tensor.dispose();
    }
    for (const scope of run.scopes.splice(0).reverse()) scope.close();
    state().forEach((now, i) => {
      assert(now === before[i], `${STATE[i]} is another`);
    });
  }

  async function checkPromises(run) {
    for (const promise of run.promises) {
      const result = await promise;
      assert.deepStrictEqual(
        result.toArray(),
        [
          [100, 200],
          [300, 400],
        ],
        'the nested op has another result',
      );
      result.dispose();
    }
  }

  /** A value as data to compare; tensors by dtype, shape and elements. */
  function plain(value, depth = 0) {
    if (value instanceof torch.Tensor) {
      let elements;
      try {
        elements = torch.scope(() => (value.numel > 4096 ? null : String(value.detach().toArray())));
      } catch (error) {
        elements = String(error.code);
      }
      return { dtype: value.dtype, shape: shapeOf(value), elements };
    }
    if (Array.isArray(value) && depth < 4) return value.map((item) => plain(item, depth + 1));
    return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : value;
  }
  function shapeOf(tensor) {
    try {
      return tensor.shape;
    } catch {
      return null;
    }
  }

  /** `ended` is called when `fn` has returned. */
  function outcomeOf(fn, ended = () => {}) {
    try {
      const value = fn();
      ended();
      return { value: plain(value) };
    } catch (error) {
      if (error === mine) return { code: 'mine' };
      if (typeof error?.code !== 'string') throw error;
      return { code: error.code };
    }
  }

  const read = (fire, value) => {
    fire();
    return value;
  };

  /** An array whose first element runs `fire`. */
  function withAccessor(list, fire) {
    const copy = [...list];
    const [value] = copy;
    Object.defineProperty(copy, 0, { enumerable: true, configurable: true, get: () => read(fire, value) });
    return copy;
  }
  const withProxy = (list, fire) =>
    new Proxy([...list], {
      get(target, name) {
        if (name === '0') fire();
        return Reflect.get(target, name);
      },
    });
  function* generated(list, fire) {
    fire();
    yield* list;
  }
  /** Each trap runs `fire`. */
  const proxied = (tensor, fire) =>
    new Proxy(
      tensor,
      Object.fromEntries(
        ['get', 'has', 'getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor'].map((trap) => [
          trap,
          (...args) => read(fire, Reflect[trap](...args)),
        ]),
      ),
    );
  const complexOf = (value, fire) => ({
    get re() {
      fire();
      return value.re;
    },
    im: value.im,
  });

  /** Tensors that collections do not free are leaks: the count is above `before`. A frame of this turn may still hold some. */
  async function tensorsLeft(before) {
    for (let turn = 0; turn < 5 && torch.memory().tensors > before; turn++) {
      collectAll();
      await new Promise(setImmediate);
    }
    return torch.memory().tensors - before;
  }

  return {
    torch,
    read,
    tensorsLeft,
    Run,
    names: Object.keys(actions),
    state,
    checkAfter,
    checkPromises,
    plain,
    outcomeOf,
    same: isDeepStrictEqual,
    forms: { withAccessor, withProxy, generated, proxied, complexOf },
  };
}

module.exports = { hostileKit };
