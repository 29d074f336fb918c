/** Lists and dicts of modules, and what they share with those of parameters. */

import { isPlainObject } from '../addon/options';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { demandModule, demandModules, type ModuleLike } from './given';
import { takesInputs } from './hooks';
import { Module } from './module';
import { requireName } from './registration';
import { joinsRepeated } from './release';

export const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof (value as Iterable<unknown> | null | undefined)?.[Symbol.iterator] === 'function';

/** A container: its elements come after its properties. */
abstract class Container<T> extends Module {
  /** @internal */
  declare _elements: Map<string, T>;

  constructor() {
    super();
    Object.defineProperty(this, '_elements', { value: new Map(), writable: true });
  }

  /** @internal */
  override _members(): [name: string, value: unknown][] {
    return [...super._members(), ...this._elements];
  }

  /** @internal */
  override _replaceChild(name: string, child: Module): void {
    if (this._elements.has(name)) this._elements.set(name, child as T);
    else super._replaceChild(name, child);
  }

  /** @internal Puts another value in the place of the element of this name. */
  abstract _replaceElement(name: string, value: unknown): void;

  /** The number of elements. */
  get length(): number {
    return this._elements.size;
  }

  [Symbol.iterator](): IterableIterator<any> {
    return this._elements.values();
  }
}

/** For reads and writes of names that a module does not have otherwise: `dict.encoder`, as in Python. */
export function elementsOf(module: object) {
  if (!Object.hasOwn(module, '_elements')) return undefined;
  const container = module as Container<unknown>;
  return {
    get: (name: string) => container._elements.get(name),
    replace: (name: string, value: unknown) => container._replaceElement(name, value),
  };
}

/** Adds a module as an element, at the end, or replaces that of the same name. */
function registerElement<M extends Module>(container: Container<M>, name: string, module: unknown): void {
  const fn = `${container.constructor.name}.registerModule`;
  requireName(fn, 'name', name);
  container._elements.set(name, demandModule(fn, 'module', module) as M);
}

/** Those of Python's `list[start:end:step]`; negative positions count from the end. */
export type SliceArguments = [start?: number | null, end?: number | null, step?: number | null];

/** What lists have in common. */
export abstract class List<T> extends Container<T> {
  /** The element at a position; negative positions count from the end. */
  at(index: number): T | undefined {
    if (!Number.isInteger(index)) throw argumentError(`${this.constructor.name}.at`, 'index', 'an integer', index);
    return [...this._elements.values()].at(index);
  }

  /** Replaces the element at a position; negative positions count from the end. */
  abstract set(index: number, element: T): this;

  /** @internal The same name keeps its place. The element is read once the position is checked. */
  _setAt(index: number, element: () => T): this {
    const names = [...this._elements.keys()];
    const name = Number.isInteger(index) ? names.at(index) : undefined;
    if (name === undefined || index < -names.length) {
      const fn = `${this.constructor.name}.set`;
      throw argumentError(fn, 'index', `a position in a list of ${names.length}`, index);
    }
    this._elements.set(name, element());
    return this;
  }

  /** @internal A part of the elements, for `slice`: as Python's `list[start:end:step]`. */
  _from<E>(elements: readonly E[], passed: SliceArguments): E[] {
    const fn = `${this.constructor.name}.slice`;
    const [start = null, end = null, step = null] = upTo(fn, 3, passed);
    for (const [name, place] of Object.entries({ start, end, step })) {
      if (place === null || Number.isInteger(place)) continue;
      throw argumentError(fn, name, 'an integer or null', place);
    }
    if (step !== null && step <= 0) throw argumentError(fn, 'step', 'an integer of 1 or more, or null', step);
    return elements.slice(start ?? 0, end ?? undefined).filter((_, i) => i % (step ?? 1) === 0);
  }

  /** @internal */
  _setAll(elements: Iterable<T>): void {
    this._elements.clear();
    for (const element of elements) this._elements.set(String(this._elements.size), element);
  }

  /** @internal */
  _splice(fn: string, index: number, count: number, more: () => T[] = () => []): T[] {
    const list = [...this._elements.values()];
    // Before the comparison, which fails for a symbol and reads other values as numbers.
    const place = !Number.isInteger(index) ? -1 : index < 0 ? index + list.length : index;
    if (place < 0 || place + count > list.length) {
      throw argumentError(fn, 'index', `a position in a list of ${list.length}`, index);
    }
    const removed = list.splice(place, count, ...more());
    this._setAll(list);
    return removed;
  }
}

/**
 * `list[0]` and `list[0] = element`, as in Python; without them an assignment would add a property beside the elements. Positions
 * from here on need `at` and `set`.
 */
const INDEXES = 1000;
for (let index = 0; index < INDEXES; index++) {
  Object.defineProperty(List.prototype, index, {
    get(this: List<unknown>) {
      return this.at(index);
    },
    set(this: List<unknown>, element: unknown) {
      this.set(index, element);
    },
    configurable: true,
  });
}

export abstract class Modules<M extends Module = Module> extends List<M> {
  override [Symbol.iterator](): IterableIterator<M> {
    return this._elements.values();
  }

  /** Adds a module at the end. */
  append(module: ModuleLike<M>): this {
    this._elements.set(String(this.length), this._read('append', module));
    return this;
  }

  /** Adds modules at the end. */
  extend(modules: Iterable<ModuleLike<M>>): this {
    if (!isIterable(modules)) {
      throw argumentError(`${this.constructor.name}.extend`, 'modules', 'a list of Modules', modules);
    }
    const given = [...modules].map((module, i) => [`modules[${i}]`, module] as const);
    for (const module of demandModules(`${this.constructor.name}.extend`, given)) this.append(module as M);
    return this;
  }

  /** Inserts a module before a position. */
  insert(index: number, module: ModuleLike<M>): this {
    this._splice(`${this.constructor.name}.insert`, index, 0, () => [this._read('insert', module)]);
    return this;
  }

  /** Removes the module at a position, by default the last, and gives it. Those after it move up. */
  pop(index = -1): M {
    return this._splice(`${this.constructor.name}.pop`, index, 1)[0]!;
  }

  /** Replaces the module at a position. */
  set(index: number, module: ModuleLike<M>): this {
    return this._setAt(index, () => this._read('set', module));
  }

  /** @internal */
  override registerModule(name: string, module: ModuleLike<M>): void {
    registerElement(this, name, module);
  }

  /** @internal */
  override _replaceElement(name: string, value: unknown): void {
    registerElement(this, name, value);
  }

  private _read(method: string, module: unknown): M {
    return demandModule(`${this.constructor.name}.${method}`, 'module', module) as M;
  }
}

/** Modules that are called in sequence, each on the result of the one before. */
export class Sequential extends Modules {
  constructor(...modules: ModuleLike[]);
  constructor(modules: Record<string, ModuleLike> | Map<string, ModuleLike>);
  constructor(...passed: unknown[]) {
    super();
    const [first] = passed;
    const named = first instanceof Map ? [...first] : isPlainObject(first) ? Object.entries(first) : null;
    if (passed.length === 1 && named !== null) {
      for (const [name] of named) requireName('nn.Sequential', 'modules', name);
      const modules = demandModules('nn.Sequential', named);
      named.forEach(([name], i) => {
        this._elements.set(name, modules[i]!);
      });
      return;
    }
    const given = passed.map((module, i) => [`modules[${i}]`, module] as const);
    this._setAll(demandModules('nn.Sequential', given));
  }

  /** Intermediate results are released when it returns, except those that a hook got. */
  override forward(input: Tensor): Tensor {
    if (this._elements.size === 1) return this.at(0)!.forward(input);
    return ownScope(() => {
      let at = input;
      for (const module of this._elements.values()) at = module.forward(at);
      return at;
    }, false);
  }

  /**
   * The modules from `start` up to `end`, with their names, as Python's `net[start:end]`; negative positions count from the end.
   * They are the same modules, not copies. With `step`: every second one, and so on.
   */
  slice(...range: SliceArguments): Sequential {
    return new Sequential(new Map(this._from([...this._elements], range)));
  }
}

/** A list of modules. */
export class ModuleList<M extends Module = Module> extends Modules<M> {
  constructor(modules?: Iterable<ModuleLike<M>> | null);
  constructor(...passed: [modules?: Iterable<ModuleLike<M>> | null]) {
    super();
    const [modules = null] = upTo('nn.ModuleList', 1, passed);
    if (modules !== null) this.extend(modules);
  }

  /** The modules from `start` up to `end`, as Python's `list[start:end:step]`; negative positions count from the end. */
  slice(...range: SliceArguments): ModuleList<M> {
    return new ModuleList(this._from([...this._elements.values()], range));
  }

  /** @internal Equal neighbours are one line where Python has it so: `(0-1): 2 x Linear(…)`. */
  override _lines(texts: readonly (readonly [name: string, text: string])[]): string[] {
    if (!joinsRepeated) return super._lines(texts);
    const runs: { first: string; last: string; count: number; text: string }[] = [];
    for (const [name, text] of texts) {
      const run = runs.at(-1);
      if (run?.text === text) Object.assign(run, { last: name, count: run.count + 1 });
      else runs.push({ first: name, last: name, count: 1, text });
    }
    return runs.map(({ first, last, count, text }) =>
      count === 1 ? `(${first}): ${text}` : `(${first}-${last}): ${count} x ${text}`,
    );
  }
}

export abstract class Dict<T> extends Container<T> {
  /** @internal The values of all entries, or an error before one of them is changed. */
  abstract _demand(fn: string, entries: readonly (readonly [key: string, value: unknown])[]): T[];

  get(key: string): T | undefined {
    return this._elements.get(key);
  }

  has(key: string): boolean {
    return this._elements.has(key);
  }

  set(key: string, value: T): this {
    return this._setAll([[key, value]]);
  }

  private _setAll(entries: readonly (readonly [key: string, value: T])[]): this {
    const fn = `${this.constructor.name}.set`;
    for (const [key] of entries) requireName(fn, 'key', key);
    const values = this._demand(fn, entries);
    entries.forEach(([key], i) => {
      this._elements.set(key, values[i]!);
    });
    return this;
  }

  /** @internal */
  override _replaceElement(name: string, value: unknown): void {
    this.set(name, value as T);
  }

  delete(key: string): boolean {
    return this._elements.delete(key);
  }

  /** Removes an entry and gives its value. */
  pop(key: string): T {
    const value = this._elements.get(key);
    if (value === undefined) {
      const keys = [...this._elements.keys()].join(', ');
      const expected = keys === '' ? 'a key, but there are none' : `a key among ${keys}`;
      throw argumentError(`${this.constructor.name}.pop`, 'key', expected, key);
    }
    this._elements.delete(key);
    return value;
  }

  clear(): void {
    this._elements.clear();
  }

  keys(): IterableIterator<string> {
    return this._elements.keys();
  }

  values(): IterableIterator<T> {
    return this._elements.values();
  }

  entries(): IterableIterator<[string, T]> {
    return this._elements.entries();
  }

  /** Python's name of `entries`. */
  items(): IterableIterator<[string, T]> {
    return this._elements.entries();
  }

  /** Iterates over the keys, as in Python. */
  override [Symbol.iterator](): IterableIterator<string> {
    return this._elements.keys();
  }

  /** Sets the entries of a Map, an object, another dict or a list of pairs. */
  update(entries: Iterable<[string, T]> | Record<string, T> | Dict<T>): this {
    const fn = `${this.constructor.name}.update`;
    const pairs = entries instanceof Dict ? entries.entries() : isIterable(entries) ? entries : null;
    if (pairs === null && !isPlainObject(entries)) {
      throw argumentError(fn, 'entries', 'an object, a Map or a list of pairs [name, value]', entries);
    }
    const list: unknown[] = [...(pairs ?? Object.entries(entries as Record<string, T>))];
    const wrong = list.findIndex((pair) => !Array.isArray(pair) || pair.length !== 2);
    if (wrong >= 0) throw argumentError(fn, `entries[${wrong}]`, 'a pair [name, value]', list[wrong]);
    return this._setAll(list as [string, T][]);
  }
}

/** Modules by name. */
export class ModuleDict<M extends Module = Module> extends Dict<M> {
  constructor(modules?: Iterable<[string, ModuleLike<M>]> | Record<string, ModuleLike<M>> | null);
  constructor(...passed: [modules?: Iterable<[string, ModuleLike<M>]> | Record<string, ModuleLike<M>> | null]) {
    super();
    const [modules = null] = upTo('nn.ModuleDict', 1, passed);
    if (modules !== null) this.update(modules as Record<string, M>);
  }

  /** @internal */
  override _demand(fn: string, entries: readonly (readonly [key: string, value: unknown])[]): M[] {
    return demandModules(fn, entries) as M[];
  }

  /** @internal */
  override registerModule(name: string, module: ModuleLike<M>): void {
    registerElement(this, name, module);
  }
}

takesInputs(Sequential);
