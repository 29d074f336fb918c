/** One run: a list of steps from nothing to nothing, with the figures compared after each. */
'use strict';

const assert = require('node:assert');
const { Model } = require('./model.cjs');
const { Draw, World } = require('./world.cjs');
const { wheel, withoutGraphs } = require('./steps.cjs');
const { several, nested, names } = require('./steps/lifetimes.cjs');

/** What V8's own buffers may make of `process.memoryUsage().external` beside the tensors. */
const SLACK = 2 ** 20;
/** Handles that a run may have at hand. */
const MOST = 40;

const turn = () => new Promise((resolve) => setImmediate(resolve));
class Thrown extends Error {}

class Run {
  constructor(torch, totals, autograd) {
    this.torch = torch;
    this.totals = totals;
    this.wheel = autograd ? wheel : withoutGraphs;
    this.model = new Model();
    this.log = [];
    this.before = torch.memory();
    this.externalBefore = process.memoryUsage().external;
    this.failure = undefined;
    this.opened = []; // scopes opened by hand: { scope, model }
  }

  async all(steps) {
    const world = new World(this.torch, this.model, null, this.log);
    try {
      this.check();
      for (const step of steps) await this.step(world, step);
    } catch (error) {
      throw this.failure ?? error; // of several sequences, the first to fail says why
    } finally {
      // A failed run leaves nothing to the next, however it failed.
      for (const { scope } of this.opened) scope.close();
      for (const { tensor } of this.model.handles) tensor?.dispose();
    }
    for (const handle of [...this.model.handles]) this.model.free(handle);
    this.log.push('the end');
    this.check();
    assert.strictEqual(this.torch.memory().allocatedBytes, this.before.allocatedBytes, 'allocatedBytes at the end');
    this.totals.runs++;
  }

  /** Compares; called after each step, in every sequence. */
  check() {
    if (this.failure !== undefined) throw this.failure;
    try {
      this.compare();
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  compare() {
    const { torch, model, before } = this;
    const now = torch.memory();
    const expected = model.figures();
    const since = (key) => now[key] - before[key];
    const actual = { tensors: since('tensors'), storages: since('storages'), bytes: since('bytes'), devices: {} };
    for (const [name, device] of Object.entries(now.devices)) {
      const was = before.devices[name] ?? { tensors: 0, storages: 0, bytes: 0 };
      actual.devices[name] = {
        tensors: device.tensors - was.tensors,
        storages: device.storages - was.storages,
        bytes: device.bytes - was.bytes,
      };
    }
    if (
      actual.tensors !== expected.tensors ||
      actual.storages !== expected.storages ||
      actual.bytes !== expected.bytes ||
      !sameDevices(actual.devices, expected.devices)
    ) {
      assert.deepStrictEqual(actual, expected, 'torch.memory()');
    }
    // libtorch holds what handles see; only graphs and the like come on top.
    const allocated = since('allocatedBytes');
    if (model.hides) assert.ok(allocated >= expected.bytes, `${allocated} bytes allocated, handles see more`);
    else assert.strictEqual(allocated, expected.bytes, 'allocatedBytes, where nothing is hidden');
    const apart = Math.abs(process.memoryUsage().external - this.externalBefore - expected.bytes);
    assert.ok(apart <= SLACK, `process.memoryUsage().external is ${apart} bytes off`);
    this.totals.widest = Math.max(this.totals.widest, apart);
  }

  count(kind) {
    this.totals.steps++;
    this.totals.kinds[kind] = (this.totals.kinds[kind] ?? 0) + 1;
  }

  /** Steps that need no waiting; the others fall back to a flat one inside synchronous scopes. */
  synchronous(world, step) {
    const draw = new Draw(step.draws);
    if (step.nested === 'scope') this.scope(world, draw, step.steps);
    else if (step.nested === 'openScope') this.openScope(world);
    else if (step.nested === 'closeScope') this.closeScope(world, draw);
    else if (step.nested === 'move') this.move(world, draw);
    else this.flat(world, draw, step.kind ?? 0);
  }

  async step(world, step) {
    const draw = new Draw(step.draws);
    const free = this.model.current === null;
    if (free && step.nested === 'async') await this.concurrent(world, draw, [step.steps, step.others]);
    else if (step.nested === 'collect') this.collect();
    else if (free && step.nested === 'drop') await this.drop(world, draw);
    else this.synchronous(world, step);
  }

  flat(world, draw, kind) {
    const { model } = this;
    if (model.handles.size > MOST) {
      const handle = world.some(draw);
      if (handle !== null) {
        world.dispose(handle);
        world.say(`#${handle.number}.dispose(), one of too many`);
        this.count('dispose');
        return this.check();
      }
    }
    const step = this.wheel[kind % this.wheel.length];
    if (step.run(world, draw)) this.count(step.name);
    this.check();
  }

  // ---- scopes ----

  /** torch.scope with a synchronous function that returns some tensors at some depth, or throws. */
  scope(world, draw, steps) {
    const { model, torch } = this;
    const parent = model.current ?? world.asyncScope;
    const before = model.current;
    const inner = model.openScope(parent);
    const openedBefore = this.opened.length;
    world.say('torch.scope(() => {');
    const throws = draw.once(4);
    let taken = [];
    const fn = () => {
      model.current = inner;
      for (const step of steps) this.synchronous(world, step);
      if (throws) throw new Thrown();
      taken = draw.once(3) ? [] : several(world, draw, 3);
      return taken.length === 0 ? undefined : nested(taken);
    };
    try {
      torch.scope(fn);
    } catch (error) {
      if (!(error instanceof Thrown)) throw error;
    }
    model.moveOut(taken, inner);
    model.closeScope(inner);
    model.current = before;
    this.opened.length = openedBefore;
    world.say(throws ? '  throw })' : `  return [${names(taken)}] })`);
    this.count('scope');
    this.check();
  }

  openScope(world) {
    // Inside an async scope one opened by hand would be current for the others too.
    if (world.asyncScope !== null && this.model.current === null) return this.flat(world, new Draw([0]), 0);
    const parent = this.model.current;
    const scope = this.torch.openScope();
    const model = this.model.openScope(parent);
    this.model.current = model;
    this.opened.push({ scope, model });
    world.say(`scope ${this.opened.length} = torch.openScope()`);
    this.count('openScope');
    return this.check();
  }

  /** Closes one that was opened by hand, with those inside it; one around the current torch.scope stays. */
  closeScope(world, draw) {
    const { model, opened } = this;
    const at = opened.findLastIndex(() => draw.once(2));
    if (at < 0) return this.check();
    const { scope, model: closing } = opened[at];
    if (model.current === null || !onlyOpened(model.current, closing, opened)) return this.check();
    scope.close();
    model.closeScope(closing);
    opened.length = at;
    scope.close(); // twice does nothing
    world.say(`scope ${at + 1} .close()`);
    this.count('closeScope');
    return this.check();
  }

  move(world, draw) {
    const entry = this.opened.at(-1);
    if (entry === undefined) return this.check();
    const handles = several(world, draw, 3);
    entry.scope.move(nested(handles));
    this.model.moveOut(handles, entry.model);
    world.say(`scope ${this.opened.length} .move([${names(handles)}])`);
    this.count('move');
    return this.check();
  }

  // ---- async scopes ----

  /** Async scopes that take turns; each turn ends where the microtasks do, so that the model sees every end in order. */
  async concurrent(world, draw, lists) {
    const { model, torch } = this;
    world.say('async scopes {');
    const one = async (steps, choice, index) => {
      const inner = model.openScope(world.asyncScope);
      const own = new World(torch, model, inner, this.log);
      let taken = [];
      const fn = async () => {
        for (const step of steps) {
          await turn();
          own.say(`in async scope ${index}:`);
          await this.step(own, step);
        }
        await turn();
        if (choice === 0) throw new Thrown();
        taken = choice === 1 ? [] : several(own, draw, 3);
        return nested(taken);
      };
      try {
        await torch.scope(fn);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      model.moveOut(taken, inner);
      model.closeScope(inner);
      own.say(`async scope ${index} ends with [${names(taken)}]`);
      this.count('async scope');
      this.check();
    };
    const choices = lists.map(() => draw.below(4));
    const ends = await Promise.allSettled(lists.map((steps, i) => one(steps, choices[i], i + 1)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    world.say('}');
  }

  // ---- the collector ----

  collect() {
    globalThis.gc();
    this.log.push('gc()');
    this.count('collect');
    this.check();
  }

  /** Tensors of the collector that nobody can reach: a full collection frees them all. */
  async drop(world, draw) {
    const handles = this.letGo(world, draw);
    // The frames that named them are gone, and no other sequence had its turn.
    await null;
    this.model.collect();
    this.collectUntil(this.before.tensors + this.model.figures().tensors);
    world.say(`${handles} out of reach, gc()`);
    this.count('drop');
    this.check();
  }

  /**
   * One collection, as a rule. V8's optimizing compiler works on a thread of its own, and until the main thread takes its
   * work it holds what the code refers to: the context of a closure that is being compiled, and so a tensor in one of its
   * variables. (Heap snapshots show the context under the compiler's handles alone; with --single-threaded,
   * --no-concurrent-recompilation or --no-opt the first collection does.) Then another one, once it has done. Nobody else
   * has a turn meanwhile.
   */
  collectUntil(tensors) {
    const clock = new Int32Array(new SharedArrayBuffer(4));
    for (let i = 0; i < 50; i++) {
      globalThis.gc();
      if (this.torch.memory().tensors <= tensors) return;
      Atomics.wait(clock, 0, 0, 20);
    }
  }

  letGo(world, draw) {
    const handles = several(world, draw, 4);
    const own = handles.filter(({ scope }) => scope === null);
    for (const handle of own) handle.tensor = null;
    return names(own);
  }
}

const sameDevices = (actual, expected) => {
  const names = Object.keys(expected);
  if (Object.keys(actual).length !== names.length) return false;
  return names.every((name) =>
    ['tensors', 'storages', 'bytes'].every((key) => actual[name]?.[key] === expected[name][key]),
  );
};

/** Whether every scope from `scope` out to `closing` was opened by hand. */
function onlyOpened(scope, closing, opened) {
  for (let at = scope; at !== null; at = at.parent) {
    if (!opened.some(({ model }) => model === at)) return false;
    if (at === closing) return true;
  }
  return false;
}

module.exports = { Run };
