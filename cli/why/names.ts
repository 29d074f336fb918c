/** Names the steps of a path in terms of the program, not of V8. */
import type { Frame } from '../capture/records';
import { type EsModules, keyBefore } from './es-modules';
import type { Paths } from './paths';
import { isNodes, type Scripts } from './scripts';
import { Edge, type HeapSnapshot, Kind } from './snapshot';
import type { WellKnown } from './well-known';

/** How names of the program are shown: unchanged or redacted. */
export interface Words {
  name(text: string): string;
  /** The position of a function by V8's line (from 1) and column. */
  place(file: string, line: number, column: number): string;
  file(file: string, line: number, column: number): string;
  /** A position in the original source. */
  written(frame: Frame): string;
}

export interface Step {
  text: string;
  /** One of many in a collection, which are counted and not named. */
  many?: boolean;
  /** The steps before it are omitted. */
  begins?: boolean;
  /** A property, possibly one of many keys. */
  property?: boolean;
}

/** Classes that are not shown. */
const PLAIN = new Set(['Object', 'Tensor', '', '(object elements)', 'Function']);
const IDENTIFIER = /^[\p{L}_$#][\p{L}\p{N}_$]*$/u;
const STORE = /^<symbol kResourceStore>$/;

/** V8's name of the property that leads to a getter or a setter. */
const ACCESSOR = /^[gs]et (?<key>.+)$/;

/** The property in which Node's event targets keep their listeners. */
const LISTENERS = '<symbol kEvents>';

/** The library's file that wraps the hooks of tensors. */
const HOOKS = /[\\/]autograd[\\/]hooks\.[a-z]+$/;

export class Names {
  private readonly timers: ReadonlySet<number>;
  private readonly collections: ReadonlySet<number>;

  constructor(
    private readonly heap: HeapSnapshot,
    private readonly known: WellKnown,
    private readonly scripts: Scripts,
    private readonly modules: EsModules,
    private readonly paths: Paths,
    private readonly words: Words,
    private readonly globals: ReadonlySet<number>,
    private readonly isOwn: (file: string) => boolean,
  ) {
    this.timers = new Set([known.Timeout, known.Immediate]);
    this.collections = new Set([known.Map, known.Set, known.WeakMap, known.AsyncContextFrame]);
  }

  /** The step to a node by its edge; undefined if it is internal to V8. */
  stepTo(node: number): Step | undefined {
    const edge = this.paths.edgeTo(node);
    if (edge < 0) return undefined;
    const from = this.paths.before(node);
    const { heap, known } = this;
    const isObject = heap.kinds[node] === Kind.object;
    if (isObject && this.timers.has(heap.names[node]!) && this.timerText(node) !== undefined)
      return { text: this.timerText(node)!, begins: true };
    if (isObject && heap.names[node] === known.MessagePort && !this.isVariable(edge, from))
      return { text: 'MessagePort', begins: true };
    if (heap.kinds[from] === Kind.synthetic) return this.root(from, node);
    const name = heap.edgeName(edge);
    switch (heap.edgeKind(edge)) {
      case Edge.context:
        // The library's function around a hook has the program's function in a variable of its own.
        if (this.paths.edgeTo(from) >= 0) {
          const closure = this.paths.before(from);
          if (this.isHook(closure)) return this.oneOfMany(node);
          if (this.isAccessor(closure)) return undefined; // the library's own variable behind a buffer of a module
        }
        return this.variable(from, heap.strings.at(name), node);
      case Edge.element:
        return this.oneOfMany(node);
      case Edge.property:
        return this.property(from, name, node);
      case Edge.internal:
        return this.internal(from, name, node);
      case Edge.hidden:
        if (heap.names[from] === known['system / Context']) return this.slot(from, edge, node);
        if (heap.names[from] === known['system / WeakCell']) return this.heldValue(node);
        return this.generator(node);
      case Edge.shortcut:
        return name === known.bound_this && this.className(node) !== undefined
          ? { text: `bound this${this.suffix(node)}` }
          : undefined;
      default:
        return undefined;
    }
  }

  /** Whether it is a variable of a module of the program. */
  private isVariable(edge: number, context: number): boolean {
    const module = this.scripts.moduleOf(context);
    return (
      this.heap.edgeKind(edge) === Edge.context &&
      module !== undefined &&
      !isNodes(module.file) &&
      !this.isOwn(module.file)
    );
  }

  private variable(context: number, name: string, node: number): Step | undefined {
    const module = this.scripts.moduleOf(context);
    const shown = this.words.name(name);
    if (module === undefined) return { text: `variable ${shown}${this.suffix(node)}` };
    const { line, column } = this.heap.locationOf(module.closure) ?? { line: 1, column: 1 };
    return { text: `${shown} (module ${this.words.file(module.file, line, column)})`, begins: true };
  }

  /** A variable of a block or a loop: V8 lists their names separately. */
  private slot(context: number, edge: number, node: number): Step | undefined {
    const { heap, known } = this;
    const info = heap.follow(context, known.scope_info, Edge.internal);
    const names: number[] = [];
    for (let at = heap.first[info] ?? 0; info >= 0 && at < heap.first[info + 1]!; at++) {
      if (heap.edgeKind(at) === Edge.hidden && heap.kinds[heap.targets[at]!] === Kind.string)
        names.push(heap.targets[at]!);
    }
    let [place, slots] = [-1, 0];
    for (let at = heap.first[context]!; at < heap.first[context + 1]!; at++) {
      if (heap.edgeKind(at) !== Edge.hidden) continue;
      if (at === edge) place = slots;
      slots++;
    }
    // The internal functions of promises have such contexts without names.
    if (names.length === 0) return this.generator(node);
    if (names.length !== slots) return { text: `a variable${this.suffix(node)}` };
    return this.variable(context, heap.nameOf(names[place]!), node);
  }

  /** What a FinalizationRegistry keeps for one of its keys. The cells also refer to each other and to the registry. */
  private heldValue(node: number): Step | undefined {
    const { heap, known } = this;
    const name = heap.names[node]!;
    if (name === known['system / WeakCell'] || name === known.FinalizationRegistry) return undefined;
    return { text: `held value${this.suffix(node)}`, many: true };
  }

  private property(from: number, id: number, node: number): Step | undefined {
    const { heap, known } = this;
    if (id === known._onTimeout || id === known._onImmediate || id === known._events) return undefined;
    const name = heap.strings.at(id);
    if (name === LISTENERS || (id === known.next && heap.names[node] === known.Listener)) return undefined;
    if (id === known.listener && heap.names[from] === known.Listener) return { text: `listener${this.suffix(node)}` };
    const before = this.paths.edgeTo(from);
    if (before >= 0 && heap.edgeName(before) === known._events && heap.edgeKind(before) === Edge.property) {
      const function_ = this.functionText(node);
      return { text: `listener of '${this.words.name(name)}'${function_ === undefined ? '' : ` (${function_})`}` };
    }
    if (heap.names[node] === known.AsyncContextFrame) return undefined;
    if (STORE.test(name)) return { text: `AsyncLocalStorage store${this.suffix(node)}` };
    if (id === known.exports && heap.names[from] === known.Module && heap.kinds[from] === Kind.object) {
      const file = heap.follow(from, known.filename, Edge.property);
      if (file >= 0) return { text: `module.exports (${this.words.file(heap.nameOf(file), 1, 1)})`, begins: true };
    }
    const accessor = heap.kinds[node] === Kind.closure ? ACCESSOR.exec(name) : null;
    const key = accessor?.groups?.key ?? name;
    const shown = this.words.name(key);
    const text = IDENTIFIER.test(key)
      ? `.${shown}`
      : key.startsWith('<symbol')
        ? `[${shown}]`
        : `[${JSON.stringify(shown)}]`;
    const suffix = this.isAccessor(node) ? '' : this.suffix(node);
    if (this.globals.has(from)) return { text: `globalThis${text}${suffix}`, begins: true };
    return { text: `${text}${suffix}`, property: true };
  }

  /** Whether it is a getter or setter that the library defines on an object of the program, as `registerBuffer` does. */
  private isAccessor(closure: number): boolean {
    const edge = this.paths.edgeTo(closure);
    if (edge < 0 || this.heap.edgeKind(edge) !== Edge.property || this.heap.kinds[closure] !== Kind.closure)
      return false;
    if (!ACCESSOR.test(this.heap.strings.at(this.heap.edgeName(edge)))) return false;
    const file = this.scripts.fileOf(closure);
    return file !== undefined && this.isOwn(file);
  }

  private internal(from: number, name: number, node: number): Step | undefined {
    const { heap, known } = this;
    if (heap.strings.isPair(name)) return { text: `value of a WeakMap for that key${this.suffix(node)}` };
    const generator = this.generator(node);
    if (generator !== undefined) return generator;
    if (name === known.reactions_or_result && heap.kinds[node] !== Kind.hidden)
      return { text: `value of the promise${this.suffix(node)}` };
    if (heap.kinds[from] === Kind.array) return this.inArray(from, node);
    const exported = this.modules.exportOf(from, this.paths);
    if (exported !== undefined) {
      const { name: called, file } = exported;
      return { text: `${this.words.name(called)} (module ${this.words.file(file, 1, 1)})`, begins: true };
    }
    return undefined;
  }

  /** An element in the storage of a collection, an object, or a suspended function. */
  private inArray(array: number, node: number): Step | undefined {
    const { heap, known } = this;
    const edge = this.paths.edgeTo(array);
    if (edge < 0 || heap.kinds[node] === Kind.array) return undefined;
    const name = heap.edgeName(edge);
    const owner = this.paths.before(array);
    if (name === known.parameters_and_registers) return { text: `local variable${this.suffix(node)}` };
    if (heap.names[owner] === known.AsyncContextFrame) return { text: `AsyncLocalStorage store${this.suffix(node)}` };
    const event = name === known.table ? this.eventOf(owner, array, node) : undefined;
    if (event !== undefined) return event === '' ? undefined : { text: `event '${this.words.name(event)}'` };
    const isCollection = name === known.table && this.collections.has(heap.names[owner]!);
    if (isCollection || name === known.elements) return this.oneOfMany(node);
    return undefined;
  }

  /** The event of a listener in the Map of an event target; undefined for other Maps, '' if unknown. */
  private eventOf(map: number, table: number, node: number): string | undefined {
    const { heap } = this;
    const edge = this.paths.edgeTo(map);
    if (edge < 0 || heap.edgeKind(edge) !== Edge.property || heap.strings.at(heap.edgeName(edge)) !== LISTENERS)
      return undefined;
    return keyBefore(heap, table, this.paths.edgeTo(node)) ?? '';
  }

  /** The step to a suspended function. */
  private generator(node: number): Step | undefined {
    const { heap, known } = this;
    if (heap.kinds[node] !== Kind.object) return undefined;
    const closure = heap.follow(node, known.function, Edge.internal);
    if (closure < 0 || heap.follow(node, known.parameters_and_registers, Edge.internal) < 0) return undefined;
    return { text: `await in ${this.callText(closure) ?? 'a function'}` };
  }

  private root(from: number, node: number): Step | undefined {
    if (from === 0 || this.heap.kinds[node] === Kind.synthetic) return undefined;
    const name = this.heap.nameOf(from);
    // The closure around it is the library's: the next step is the program's function.
    if (this.isHook(node)) return { text: 'a hook of a tensor', begins: true };
    const text =
      name === '(Stack roots)'
        ? 'a variable of a running function'
        : name === '(Handle scope)'
          ? 'a native call'
          : 'a native handle';
    return { text: `${text}${this.suffix(node)}`, begins: true };
  }

  /** Whether native code holds this function for `t.registerHook`. */
  private isHook(node: number): boolean {
    if (this.heap.kinds[node] !== Kind.closure) return false;
    const file = this.scripts.fileOf(node);
    return file !== undefined && HOOKS.test(file) && this.isOwn(file);
  }

  /** `setInterval of 1,000 ms (tick, server.js:8)`; undefined for a class of the program with the same name. */
  private timerText(node: number): string | undefined {
    const { heap, known } = this;
    const isImmediate = heap.names[node] === known.Immediate;
    const closure = heap.follow(node, isImmediate ? known._onImmediate : known._onTimeout, Edge.property);
    if (closure < 0) return undefined;
    const function_ = this.functionText(closure);
    const suffix = function_ === undefined ? '' : ` (${function_})`;
    if (isImmediate) return `setImmediate${suffix}`;
    const repeat = this.numberAt(heap.follow(node, known._repeat, Edge.property));
    const delay = repeat ?? this.numberAt(heap.follow(node, known._idleTimeout, Edge.property));
    const ms = delay === undefined ? '' : ` of ${delay.toLocaleString('en')} ms`;
    return `${repeat === undefined ? 'setTimeout' : 'setInterval'}${ms}${suffix}`;
  }

  private numberAt(node: number): number | undefined {
    if (node < 0 || this.heap.kinds[node] !== Kind.number) return undefined;
    const value = this.heap.follow(node, this.known.value, Edge.internal);
    return value < 0 ? undefined : Number(this.heap.nameOf(value));
  }

  /** `onData, server.js:22`; undefined if it is not a function of the program. */
  private functionText(node: number): string | undefined {
    const { heap } = this;
    if (heap.kinds[node] !== Kind.closure) return undefined;
    const file = this.scripts.fileOf(node);
    const { line, column } = heap.locationOf(node) ?? { line: 1, column: 1 };
    const name = heap.nameOf(node);
    const shown = name === '' ? '(anonymous)' : this.words.name(name);
    return file === undefined ? undefined : `${shown}, ${this.words.place(file, line, column)}`;
  }

  /** `onData (server.js:22)`. */
  private callText(closure: number): string | undefined {
    return this.functionText(closure)?.replace(', ', ' (').concat(')');
  }

  private oneOfMany(node: number): Step {
    const function_ = this.functionText(node);
    return { text: this.className(node) ?? (function_ === undefined ? '' : `function (${function_})`), many: true };
  }

  private className(node: number): string | undefined {
    if (this.heap.kinds[node] !== Kind.object) return undefined;
    const name = this.heap.nameOf(node);
    return PLAIN.has(name) || name.startsWith('system /') ? undefined : this.words.name(name);
  }

  private suffix(node: number): string {
    const text = this.className(node) ?? this.functionText(node);
    return text === undefined ? '' : ` (${text})`;
  }
}
