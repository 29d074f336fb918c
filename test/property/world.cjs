/** A step's context: the library, the model, the draws of the step, and the existing tensors. */
'use strict';

const assert = require('node:assert');
const { dtypes, numelOf } = require('./shapes.cjs');

/** Choices from the numbers that fast-check drew for one step; smaller numbers give simpler steps. */
class Draw {
  constructor(numbers) {
    this.numbers = numbers;
    this.next = 0;
  }
  /** 0 … count - 1. */
  below(count) {
    const round = Math.floor(this.next / this.numbers.length);
    const number = this.numbers[this.next++ % this.numbers.length];
    // When all are used, the numbers are reused with other digits.
    return Math.floor(number / 7 ** round) % count;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  /** True with a probability of 1 / `times`. */
  once(times) {
    return this.below(times) === times - 1;
  }
  dtype() {
    return this.pick(dtypes);
  }
  /** Up to four dimensions; sizes of 0 and 1 are frequent. */
  shape(most = 4) {
    const shape = [];
    for (let i = this.below(most + 1); i > 0; i--) shape.push(this.below(6));
    if (this.once(40)) return [1 + this.below(4), 65_536];
    return shape;
  }
}

/** "[2, 3]", for the printed steps. */
const text = (value) =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)).replaceAll(',', ', ');

/**
 * One sequence of steps: the main one, or one inside an async scope. `scope` is the async scope that tensors belong to
 * outside every synchronous scope.
 */
class World {
  constructor(run, scope = null) {
    this.run = run;
    this.torch = run.torch;
    this.aten = run.torch.ops.aten;
    this.peer = run.peer;
    this.model = run.model;
    this.asyncScope = scope;
    this.log = run.log;
    this.revoked = undefined; // a token that was disposed
    this.disposed = []; // a few disposed tensors
  }

  get owner() {
    return this.model.current ?? this.asyncScope;
  }

  say(line) {
    this.log.push(line);
    return true;
  }

  /** An existing handle for which `fits`, or null. */
  some(draw, fits = () => true) {
    const found = [];
    for (const handle of this.model.handles) if (handle.tensor !== null && fits(handle.impl)) found.push(handle);
    return found.length === 0 ? null : draw.pick(found);
  }

  /** The same for the other thread. */
  someThere(draw, fits = () => true) {
    const found = [...this.model.sharing.there].filter(({ impl }) => fits(impl));
    return found.length === 0 ? null : draw.pick(found);
  }

  /** A token that may be taken, or null. */
  someToken(draw, fits = () => true) {
    const found = [...this.model.sharing.tokens].filter(fits);
    return found.length === 0 ? null : draw.pick(found);
  }

  /** Enters a new tensor that the library returned. */
  made(tensor, impl) {
    const handle = this.model.add(tensor, impl, this.owner);
    // A rule with a wrong shape would cause failures later, so check it at once.
    assert.deepStrictEqual(tensor.shape, impl.shape, 'the model knows the shape');
    return handle;
  }

  /** The same with a printed line: `#7 = #3.view([2, 6])`. */
  result(what, tensor, impl) {
    const handle = this.made(tensor, impl);
    return this.say(`#${handle.number} = ${what}`);
  }

  /** Has the other thread make a tensor. */
  resultThere(what, command, impl) {
    const handle = { number: ++this.model.made, impl };
    const shape = this.peer.ask({ ...command, as: handle.number });
    this.model.sharing.there.add(handle);
    assert.deepStrictEqual(shape, impl.shape, 'the model knows the shape');
    return this.say(`there: #${handle.number} = ${what}`);
  }

  /** Runs a call that must fail with `code`. */
  refused(what, code, fn) {
    this.say(`${what} must throw ${code}`);
    assert.throws(fn, (error) => {
      assert.strictEqual(error.code, code, error.message);
      return true;
    });
    return true;
  }

  /** The program disposes a tensor. */
  dispose(handle) {
    handle.tensor.dispose();
    if (this.disposed.length < 8) this.disposed.push(handle.tensor);
    else this.disposed[handle.number % 8] = handle.tensor;
    this.model.free(handle);
  }
}

const isStrided = (impl) => impl.layout === 'strided' && impl.storage.device === 'cpu';
/** Dense, on the CPU, and unknown to autograd. */
const isPlain = (impl) => isStrided(impl) && impl.graph === null;
const isKnown = (impl) => isPlain(impl) && impl.strides !== null;
/** Each element has its own memory, and its value may change. */
const isWritable = (impl) => isPlain(impl) && impl.overlap === false && !impl.storage.readonly;
/** Other tensors do not depend on its shape. */
const isLoose = (impl) => isWritable(impl) && !impl.isGrad && !impl.version.saved;
const isSmall = (impl) => numelOf(impl.shape) <= 65_536;
const isFloat = (impl) => impl.dtype === 'float32' || impl.dtype === 'float64';

module.exports = { Draw, World, text, isStrided, isPlain, isKnown, isWritable, isLoose, isSmall, isFloat };
