/**
 * 1,000 tasks in scopes of every kind, interleaved at random, with a model of which scope owns what. After every step the
 * library's count and owners must be the model's. A program of its own (see async-scopes.test.ts): interleaved.js LIB SEED.
 */
import * as path from 'node:path';
import type { Native } from '../../../lib/addon/native';
import type typed from '../../../types';

const library = process.argv[2]!;
const torch = require(path.join(library, 'index.js')) as typeof typed;
/** Programs cannot query the owner of a tensor, so this reads internals. */
const { native } = require(path.join(library, 'addon/native.js')) as { native: Native };
type Tensor = typed.Tensor;
type Scope = typed.Scope;

let state = Number(process.argv[3]);
/** mulberry32 */
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
const below = (limit: number) => Math.floor(random() * limit);

/** A scope in the model. */
class Model {
  readonly owned = new Set<Tensor>();
  result: Tensor[] = [];
  scope: Scope | undefined;
  constructor(readonly parent: Model | null) {}

  /** Itself, or the nearest open one around it; null is the collector. */
  get open(): Model | null {
    let model: Model | null = this;
    while (model?.scope?.closed) model = model.parent;
    return model;
  }
}

const models = new Set<Model>();
const collectors = new Set<Tensor>();
const statistics = { checks: 0, steps: 0, ended: 0, thrown: 0, outside: 0, late: 0, moved: 0, outlived: 0 };
const failures: string[] = [];

/** Scopes that have ended since: their tensors are freed, their results belong to their parents. */
function settle(): void {
  for (const model of models) {
    if (!model.scope?.closed) continue;
    models.delete(model);
    statistics.ended++;
    const heir = model.parent?.open ?? null;
    for (const tensor of model.result) {
      model.owned.delete(tensor);
      (heir?.owned ?? collectors).add(tensor);
      statistics.moved++;
    }
    for (const tensor of model.owned) if (!tensor.disposed) failures.push('a tensor outlived its scope');
  }
}

// The model must process each end when it happens, because a scope's result may end with its parent right after.
const { close } = torch.Scope.prototype;
torch.Scope.prototype.close = function (this: Scope): void {
  close.call(this);
  settle();
};

function check(where: string): void {
  statistics.checks++;
  let expected = collectors.size;
  for (const { owned } of models) expected += owned.size;
  const { tensors } = torch.memory();
  if (tensors !== expected) failures.push(`${where}: ${tensors} tensors live, ${expected} expected`);
  for (const { owned, scope } of models) for (const tensor of owned) demandOwner(where, tensor, scope!._id);
  for (const tensor of collectors) demandOwner(where, tensor, 0);
  if (failures.length > 0) finish();
}

function demandOwner(where: string, tensor: Tensor, scope: number): void {
  if (tensor.disposed) failures.push(`${where}: freed early`);
  else if (native.scopeOf(tensor._handle) !== scope) failures.push(`${where}: a tensor is in another scope`);
}

function finish(): never {
  console.log(`ANSWER ${JSON.stringify({ failures: failures.slice(0, 5), statistics, left: torch.memory().tensors })}`);
  process.exit(0);
}

/** A new tensor in the code of `model`: the nearest open scope's. */
function make(model: Model | null): Tensor {
  const tensor = torch.ones([1 + below(4)]);
  (model?.open?.owned ?? collectors).add(tensor);
  return tensor;
}

const pauses: (() => PromiseLike<unknown>)[] = [
  () => new Promise((resolve) => setTimeout(resolve, below(4))),
  () => new Promise((resolve) => setImmediate(resolve)),
  () => new Promise<void>((resolve) => queueMicrotask(resolve)),
  () => new Promise<void>((resolve) => process.nextTick(resolve)),
  () => Promise.resolve().then(() => Promise.resolve()),
  () => null as never, // not a promise
  // biome-ignore lint/suspicious/noThenProperty: an await takes any thenable
  () => ({ then: (resolve: () => void) => setImmediate(resolve) }) as never,
  () => Promise.reject(new Error('a pause')).catch(() => {}),
];
const pause = () => pauses[below(pauses.length)]!();

class Planned extends Error {}

/** One step of a task, between two awaits. Returns what it waits for. */
function step(model: Model, depth: number): PromiseLike<unknown> {
  statistics.steps++;
  make(model);
  const scope = model.scope!;
  const kind = below(12);
  if (kind === 0) setTimeout(() => late(model), below(6));
  else if (kind === 1) queueMicrotask(() => late(model));
  else if (kind === 2) process.nextTick(() => late(model));
  else if (kind === 3) setImmediate(() => late(model));
  else if (kind === 4) {
    const kept = torch.scope(() => [torch.ones([2]), torch.ones([2]).add(1)][1]!);
    model.owned.add(kept);
  } else if (kind === 5) {
    const moved = scope.move(make(model));
    model.owned.delete(moved);
    (model.parent?.open?.owned ?? collectors).add(moved);
  } else if (kind === 6) {
    const parent = scope.parent;
    if (parent !== null) model.parent!.open!.owned.add(parent.run(() => torch.ones([2])));
  } else if (kind === 7) {
    void scope.run(async () => {
      make(model);
      await pause();
      late(model);
    });
  } else if (kind === 8 && depth < 3) {
    const nested = task(model, depth + 1);
    make(model); // plain code after the call of a task is not in the task's scope
    check('after a nested call');
    if (below(3) > 0) return nested;
    statistics.outlived++;
    running.push(nested);
  }
  if (kind === 9) throw new Planned();
  check('step');
  return pause();
}

/** Code that the task started and that may run after its scope has ended. */
function late(model: Model): void {
  statistics.late++;
  make(model);
  check('late');
}

/** The result of a task: one of its own tensors, or nothing. */
function results(model: Model): Tensor[] {
  const mine = [...model.owned].slice(0, below(3));
  model.result = mine;
  return mine;
}

const running: PromiseLike<unknown>[] = [];
const begin = (parent: Model | null, scope: Scope) => {
  const model = new Model(parent?.open ?? null);
  model.scope = scope;
  models.add(model);
  return model;
};

type Variant = (parent: Model | null, depth: number) => Promise<unknown>;

const asyncFunction: Variant = (parent, depth) =>
  torch.scope(async (scope) => {
    const model = begin(parent, scope);
    for (let i = below(5); i >= 0; i--) await step(model, depth);
    return { results: results(model) };
  });

const plainFunction: Variant = (parent, depth) =>
  torch.scope((scope) => {
    const model = begin(parent, scope);
    let rounds = below(5);
    const next = (): unknown =>
      rounds-- === 0 ? new Set(results(model)) : Promise.resolve(step(model, depth)).then(next);
    return Promise.resolve(step(model, depth)).then(next);
  });

const withUsing: Variant = async (parent, depth) => {
  using scope = torch.openScope();
  const model = begin(parent, scope);
  for (let i = below(5); i >= 0; i--) {
    await step(model, depth);
    if (below(6) === 0) return;
  }
  make(model);
};

const withAwaitUsing: Variant = async (parent, depth) => {
  await using scope = torch.openScope();
  const model = begin(parent, scope);
  for (let i = below(5); i >= 0; i--) await step(model, depth);
  make(model);
};

const withFinally: Variant = async (parent, depth) => {
  await helper(null);
  const scope = torch.openScope();
  const model = begin(parent, scope);
  try {
    await helper(model); // a callee that awaits does not take the scope from its caller
    make(model);
    const pending = helper(model);
    make(model);
    check('after a callee has begun to wait');
    for (let i = below(5); i >= 0; i--) await step(model, depth);
    await pending;
  } finally {
    scope.close();
  }
};

async function helper(model: Model | null): Promise<void> {
  if (model !== null) make(model);
  await pause();
  if (model !== null) late(model);
}

const variants: Variant[] = [asyncFunction, plainFunction, withUsing, withAwaitUsing, withFinally];

/** Runs one variant until it ends or throws a planned error. */
function task(parent: Model | null, depth: number): Promise<void> {
  const caught = (error: unknown) => {
    if (!(error instanceof Planned)) throw error;
    statistics.thrown++;
  };
  try {
    return variants[below(variants.length)]!(parent, depth).then(() => {}, caught);
  } catch (error) {
    caught(error); // a plain function throws before it makes a promise
    return Promise.resolve();
  }
}

/** Code outside all scopes. */
async function unrelated(): Promise<void> {
  for (let i = 0; i < 200; i++) {
    const tensor = make(null);
    statistics.outside++;
    await pause();
    if (tensor.disposed) failures.push('a tensor outside every scope was freed');
    check('outside');
    collectors.delete(tensor);
    tensor.dispose();
  }
}

async function main(): Promise<void> {
  running.push(unrelated(), unrelated());
  for (let i = 0; i < 1000; i++) {
    running.push(task(null, 0));
    make(null);
    check('after a call');
    if (below(4) === 0) await pause();
  }
  for (let i = 0; i < running.length; i++) await running[i]; // the list grows meanwhile
  await new Promise((resolve) => setTimeout(resolve, 50));
  check('at the end');
  if (models.size > 0) failures.push(`${models.size} scopes are still open`);
  for (const tensor of collectors) {
    if (tensor.disposed) failures.push('a tensor of the collector was freed');
    tensor.dispose();
  }
  finish();
}

process.on('unhandledRejection', (error) => {
  failures.push(String((error as Error).stack));
  finish();
});
void main();
