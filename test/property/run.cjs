/** One run: a list of steps from an empty to an empty state, with the figures compared after each. */
'use strict';

const assert = require('node:assert');
const { Model } = require('./model.cjs');
const { Draw, World } = require('./world.cjs');
const { wheel, withoutGraphs } = require('./steps.cjs');
const { several, nested, names } = require('./steps/lifetimes.cjs');
const { Sharing } = require('./sharing.cjs');

/** The share of V8's own buffers in `process.memoryUsage().external`. */
const SLACK = 2 ** 20;
/** How long to wait for garbage that V8's compiler may hold. */
const PATIENCE_MS = 15_000 * Number(process.env.LTN_TIME_FACTOR ?? 1);
/** The maximum number of handles in a run. */
const MOST = 40;

const turn = () => new Promise((resolve) => setImmediate(resolve));
class Thrown extends Error {}

class Run {
  constructor(torch, peer, totals, autograd) {
    this.torch = torch;
    this.peer = peer;
    this.totals = totals;
    this.wheel = autograd ? wheel : withoutGraphs;
    this.model = new Model(new Sharing());
    this.log = [];
    this.before = torch.memory();
    this.reportedBefore = peer.reportedHere();
    this.externalBefore = process.memoryUsage().external;
    this.failure = undefined;
    this.hasSome = false; // the other thread has handles
    this.opened = []; // scopes opened by hand: { scope, model }
  }

  async all(steps) {
    const world = new World(this);
    try {
      this.check();
      for (const step of steps) await this.step(world, step);
    } catch (error) {
      await this.peer.stop();
      throw this.failure ?? error; // of several sequences, the first failure is reported
    } finally {
      // A failed run must not affect the next, however it failed.
      for (const { scope } of this.opened) scope.close();
      this.dispose();
    }
    this.endSharing();
    this.log.push('the end');
    this.check();
    this.compareTold();
    assert.strictEqual(this.torch.memory().allocatedBytes, this.before.allocatedBytes, 'allocatedBytes at the end');
    this.totals.runs++;
  }

  dispose() {
    for (const handle of [...this.model.handles]) {
      handle.tensor?.dispose();
      this.model.free(handle);
    }
    for (const token of this.model.sharing.tokens) {
      token.token?.dispose?.(); // one from the other thread lacks dispose
      token.token = null;
    }
  }

  /** The other thread stays alive without tensors. */
  endSharing() {
    const { sharing } = this.model;
    if (this.peer.worker !== null) this.peer.ask({ do: 'clear' });
    sharing.end();
    this.collectUntil();
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
    assert.strictEqual(since('tokens'), model.sharing.tokens.size, 'tokens');
    // libtorch holds the memory of handles and tokens, plus that of graphs and similar objects.
    const allocated = since('allocatedBytes');
    const seen = model.allocated(expected.bytes);
    if (model.hides) assert.ok(allocated >= seen, `${allocated} bytes allocated, handles and tokens see more`);
    else assert.strictEqual(allocated, seen, 'allocatedBytes, where nothing is hidden');
    this.compareExternal(expected.bytes);
  }

  /** The memory that V8 counts for tensors, in each thread. */
  compareExternal(bytes) {
    const { model, peer } = this;
    this.toldHere = model.sharing.toldHere(model.handles);
    this.within(process.memoryUsage().external - this.externalBefore - this.toldHere, 'process.memoryUsage().external');
    // Not queried while it has and had no tensors.
    const hadSome = this.hasSome;
    this.hasSome = model.sharing.there.size > 0;
    if (!hadSome && !this.hasSome) return;
    // It checks torch.memory() too: one process, the same figures.
    const there = peer.ask({ do: 'figures' });
    assert.strictEqual(there.bytes - this.before.bytes, bytes, 'bytes, asked in the other thread');
    this.within(there.external - peer.external - (bytes - this.toldHere), 'external of the other thread');
  }

  within(difference, what) {
    const apart = Math.abs(difference);
    assert.ok(apart <= SLACK, `${what} is ${apart} bytes off`);
    this.totals.widest = Math.max(this.totals.widest, apart);
  }

  /** The same to the byte: the memory that the library reported to V8. */
  compareTold() {
    const { peer, toldHere } = this;
    const told = [peer.reportedHere() - this.reportedBefore, peer.worker === null ? 0 : peer.ask({ do: 'reported' })];
    assert.deepStrictEqual(told, [toldHere, this.model.figures().bytes - toldHere], 'told to V8, here and there');
  }

  count(kind) {
    this.totals.steps++;
    this.totals.kinds[kind] = (this.totals.kinds[kind] ?? 0) + 1;
  }

  /** Steps without waiting; inside synchronous scopes the others fall back to a flat one. */
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
    else if (free && step.nested === 'stop' && world.asyncScope === null) await this.stop(world, draw);
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
    scope.close(); // a second close has no effect
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

  /** Async scopes that take turns; each turn ends with the microtasks, so that the model sees every end in order. */
  async concurrent(world, draw, lists) {
    const { model, torch } = this;
    world.say('async scopes {');
    const one = async (steps, choice, index) => {
      const inner = model.openScope(world.asyncScope);
      const own = new World(this, inner);
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

  /** Unreachable tensors of the collector: a full collection frees all of them. */
  async drop(world, draw) {
    const handles = this.letGo(world, draw);
    // The frames that referenced them have ended, and other sequences have not run.
    await null;
    this.model.collect();
    this.model.sharing.collect();
    this.collectUntil();
    world.say(`${handles} out of reach, gc()`);
    this.count('drop');
    this.check();
  }

  /**
   * Usually one collection. V8's optimizing compiler runs on its own thread, and until the main thread takes its result it
   * holds references of the code: the context of a closure that is being compiled, and so a tensor in one of its
   * variables. (Heap snapshots show the context under the compiler's handles alone; with --single-threaded,
   * --no-concurrent-recompilation or --no-opt the first collection does.) Then another one, once the compiler has finished. Other
   * sequences do not run meanwhile.
   */
  collectUntil() {
    const tensors = this.before.tensors + this.model.figures().tensors;
    const tokens = this.before.tokens + this.model.sharing.tokens.size;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    const limit = Date.now() + PATIENCE_MS;
    for (let i = 0; i === 0 || Date.now() < limit; i++) {
      globalThis.gc();
      const now = this.torch.memory();
      if (now.tensors <= tensors && now.tokens <= tokens) return;
      // Copies of tokens that the other thread has dropped.
      if (this.peer.worker !== null) this.peer.ask({ do: 'collect' });
      Atomics.wait(clock, 0, 0, Math.min(i, 20));
    }
  }

  letGo(world, draw) {
    const handles = several(world, draw, 4);
    const own = handles.filter(({ scope }) => scope === null);
    for (const handle of own) handle.tensor = null;
    const tokens = [...this.model.sharing.tokens].filter(({ token }) => token !== null && draw.below(3) === 0);
    for (const token of tokens) {
      token.token = null;
      if (!token.isHeld) this.totals.kinds['drop of a token'] = (this.totals.kinds['drop of a token'] ?? 0) + 1;
    }
    return [names(own), ...tokens.map(({ number }) => `token ${number}`)].join(', ');
  }

  // ---- the other thread ----

  /** Ends it with all its tensors; the next step that needs a thread starts another. */
  async stop(world, draw) {
    if (this.peer.worker === null || !draw.once(3)) return this.flat(world, draw, 0);
    const how = draw.pick(['idle', 'busy', 'exit']);
    await this.peer.stop(how);
    this.model.sharing.end();
    this.hasSome = false;
    this.collectUntil();
    world.say(`the other thread ends, ${how}`);
    this.count('stop');
    return this.check();
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
