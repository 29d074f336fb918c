/** torch.nn.Module. */
import type { Device, DTypeLike } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { flagOf, ownOptions } from '../addon/options';
import { markCopy } from '../errors/copies';
import { argumentError, codedError } from '../errors/errors';
import type { HookHandle, HookOptions } from '../tensor/hook-list';
import { requireComputed } from '../tensor/pending';
import type { SharedTensor } from '../tensor/share';
import { isTensor, requireLive, type Tensor } from '../tensor/tensor';
import { cast, conversion, dtypeOf, replaceData, type ToArguments, targetOf } from './conversion';
import { deepCopyOf, notCloned, refuseForeignCopies } from './copy';
import { type EmptyOptions, emptied } from './emptied';
import {
  type CallHooks,
  type ForwardHook,
  type ForwardPreHook,
  type FullBackwardHook,
  noCallHooks,
  prepareClasses,
  prepareOwn,
} from './hooks';
import { Buffer, isUntrained, OUTSIDE, Parameter, zeroGrads } from './parameter';
import { bringsTensors, defineOwning, demandMember, membersOf, objectsIn, requireFree } from './registration';
import { loadShared, type SharedModule, sharedOf } from './shared';
import {
  type IncompatibleKeys,
  jsonOf,
  type LoadOptions,
  type LoadStateDictOptions,
  type LoadStateDictPostHook,
  type LoadStateDictPreHook,
  loadState,
  ModuleState,
  type StateDict,
  type StateDictHook,
  type StateDictOptions,
  StateHooks,
  stateOf,
} from './state';
import { textOf } from './text';
import { found, joined, named, recursion, type WalkOptions, walkOptions } from './walk';

const inspect = Symbol.for('nodejs.util.inspect.custom');
const everyName = { removeDuplicate: false };

/**
 * The base class of layers and models. Parameters, buffers and submodules are found as properties, in the order of their
 * definition. `forward` calls the module, hooks included. See docs/training.md.
 */
export class Module {
  /** @internal */
  readonly _notCloned = notCloned;
  /** Whether the module is in training mode. */
  training = true;
  /** @internal */
  declare readonly _state: ModuleState;
  /** @internal Python's names of properties, where they differ. */
  declare readonly _names: Readonly<Record<string, string>>;

  constructor() {
    Object.defineProperty(this, '_state', { value: new ModuleState(), configurable: true });
    prepareClasses(Object.getPrototypeOf(this), Module.prototype);
  }

  /** Computes the result. Each class defines it. */
  forward(..._inputs: any[]): any {
    const name = this.constructor.name;
    throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', `${name}.forward: expected a class with a forward, got none`);
  }

  /** @internal Null without hooks: a call must not pay for those that were removed. */
  get _callHooks(): CallHooks | null {
    const { calls } = this._state;
    if (calls !== null && calls.pre.size + calls.after.size + calls.backward.size === 0) this._state.calls = null;
    return this._state.calls;
  }

  /** @internal Properties that are objects, and elements, in order. */
  _members(): [name: string, value: unknown][] {
    return objectsIn(this);
  }

  /** @internal */
  _keyOf(name: string): string {
    const python = Object.hasOwn(this._names, name) ? this._names[name] : undefined;
    return this._state.keys.get(name) ?? python ?? name;
  }

  /** @internal By property name. Not `strict`: without those of another copy of the library, instead of an error. */
  _children(strict = true): [name: string, child: Module][] {
    return membersOf(this, Module, strict);
  }

  /** @internal Puts another module in the place of one of `_children`. */
  _replaceChild(name: string, child: Module): void {
    (this as Record<string, unknown>)[name] = child;
  }

  /** @internal This module and those in it, by Python's names: each once, or by all names without a circle. */
  _tree(prefix = '', once = true, seen = new Set<Module>(), strict = true): [name: string, module: Module][] {
    if (seen.has(this)) return [];
    seen.add(this);
    const found: [string, Module][] = [[prefix, this]];
    for (const [name, child] of this._children(strict))
      found.push(...child._tree(joined(prefix, this._keyOf(name)), once, seen, strict));
    if (!once) seen.delete(this);
    return found;
  }

  /** @internal The module's own parameters and buffers, by property name. */
  _ownParameters(): [name: string, value: Parameter][] {
    return this._members().filter((member): member is [string, Parameter] => member[1] instanceof Parameter);
  }

  /** @internal */
  _ownBuffers(): [name: string, value: Tensor][] {
    const { buffers } = this._state;
    return this._members().filter(
      (m): m is [string, Tensor] => m[1] instanceof Buffer || (buffers.has(m[0]) && isTensor(m[1])),
    );
  }

  /** The parameters of the module and those in it, each once. */
  parameters(options: Pick<WalkOptions, 'recurse'> | boolean = {}): Parameter[] {
    const recurse = recursion('parameters', options);
    return found(this, (module) => module._ownParameters(), { recurse }).map(([, value]) => value);
  }

  /** The parameters of the module and those in it with their names, such as 'encoder.weight', each once. */
  namedParameters(options: WalkOptions | string = {}): [name: string, parameter: Parameter][] {
    return found(this, (module) => module._ownParameters(), walkOptions('namedParameters', options));
  }

  /** The buffers of the module and those in it, each once. */
  buffers(options: Pick<WalkOptions, 'recurse'> | boolean = {}): Tensor[] {
    const recurse = recursion('buffers', options);
    return found(this, (module) => module._ownBuffers(), { recurse }).map(([, value]) => value);
  }

  /** The buffers of the module and those in it with their names, such as 'norm.running_mean', each once. */
  namedBuffers(options: WalkOptions | string = {}): [name: string, buffer: Tensor][] {
    return found(this, (module) => module._ownBuffers(), walkOptions('namedBuffers', options));
  }

  /** This module and all modules in it, each once. */
  modules(): Module[] {
    return this._tree().map(([, module]) => module);
  }

  /** This module, with the name '', and all modules in it with theirs, such as 'encoder.layers.0', each once. */
  namedModules(options: Omit<WalkOptions, 'recurse'> | string = {}): [name: string, module: Module][] {
    const { prefix, removeDuplicate } = walkOptions('namedModules', options, ['prefix', 'removeDuplicate']);
    return this._tree(prefix, removeDuplicate);
  }

  /** The modules directly in this one, each once. */
  children(): Module[] {
    return this.namedChildren().map(([, child]) => child);
  }

  /** The modules directly in this one with their names, each once. */
  namedChildren(): [name: string, child: Module][] {
    const seen = new Set<Module>();
    return this._children()
      .filter(([, child]) => !seen.has(child) && seen.add(child))
      .map(([name, child]) => [this._keyOf(name), child]);
  }

  /** The module with this name in `namedModules`. */
  getSubmodule(target: string): Module {
    return named(this, 'getSubmodule', target, 'a module', this._tree('', false));
  }

  getParameter(target: string): Parameter {
    return named(this, 'getParameter', target, 'a parameter', this.namedParameters(everyName));
  }

  getBuffer(target: string): Tensor {
    return named(this, 'getBuffer', target, 'a buffer', this.namedBuffers(everyName));
  }

  /** Puts the module and those in it into training mode, or with false into evaluation mode. */
  train(mode = true): this {
    if (typeof mode !== 'boolean') throw argumentError('train', 'mode', 'a boolean', mode);
    for (const [, module] of this._tree()) module.training = mode;
    return this;
  }

  /** Puts the module and those in it into evaluation mode. */
  eval(): this {
    return this.train(false);
  }

  /** Whether the parameters require gradients. */
  requiresGrad_(requiresGrad = true): this {
    for (const parameter of this.parameters()) parameter.requiresGrad = requiresGrad;
    return this;
  }

  /** Drops the gradients of the parameters, or with `setToNone: false` sets them to zero. */
  zeroGrad(options: { setToNone?: boolean | undefined } = {}): void {
    zeroGrads('zeroGrad', this.parameters(), options);
  }

  /** Calls `fn` with each module in this one, inner ones first, then with this one. */
  apply(fn: (module: Module) => void): this {
    if (typeof fn !== 'function') throw argumentError('apply', 'fn', 'a function', fn);
    for (const child of this.children()) child.apply(fn);
    fn(this);
    return this;
  }

  /**
   * Moves parameters and buffers to a device, or converts those of floating-point dtypes. The tensors stay the same objects,
   * so optimizers keep working, except those that go to `'meta'`.
   */
  to<const D extends string = Device>(...target: ToArguments<D>): this {
    return replaceData(this, conversion(targetOf(target)));
  }

  /** Converts all parameters and buffers. */
  type(dtype: DTypeLike): this {
    const name = dtypeOf('type', dtype);
    return replaceData(this, (tensor) => tensor.to(name) as Tensor);
  }

  float(): this {
    return replaceData(this, cast('float32'));
  }

  double(): this {
    return replaceData(this, cast('float64'));
  }

  half(): this {
    return replaceData(this, cast('float16'));
  }

  bfloat16(): this {
    return replaceData(this, cast('bfloat16'));
  }

  cpu(): this {
    return this.to('cpu');
  }

  cuda(device = 'cuda:0'): this {
    return this.to(device);
  }

  /** Gives parameters and buffers memory on a device, without values. `recurse: false`: only the module's own. */
  toEmpty(options: EmptyOptions): this {
    return emptied(this, options);
  }

  /**
   * Adds a tensor that is part of the module but not trained. The module owns it, and every tensor that is later assigned to
   * the property. `persistent`: part of the state dict.
   */
  registerBuffer(name: string, tensor: Tensor | null, options: { persistent?: boolean } | boolean = {}): void {
    const fn = 'registerBuffer';
    const given = typeof options === 'boolean' ? options : ownOptions(fn, options, ['persistent']).persistent;
    const persistent = flagOf(fn, 'persistent', given, true);
    if (tensor !== null && !isTensor(tensor)) throw argumentError(fn, 'tensor', 'a Tensor or null', tensor);
    if (tensor !== null) {
      requireComputed(fn, 'tensor', tensor, OUTSIDE);
      requireLive(fn, 'tensor', tensor);
    }
    requireFree(this, fn, name, (value) => this._state.buffers.has(name) || isUntrained(value));
    this._state.buffers.set(name, persistent);
    defineOwning(this, name, tensor);
  }

  registerParameter(name: string, parameter: Parameter | null): void {
    demandMember(this, 'registerParameter', 'parameter', Parameter, name, parameter);
    (this as Record<string, unknown>)[name] = parameter;
  }

  registerModule(name: string, module: Module | ScriptModule | null): void {
    demandMember(this, 'registerModule', 'module', Module, name, module);
    (this as Record<string, unknown>)[name] = module;
  }

  /** Python's other name of `registerModule`. */
  addModule(name: string, module: Module | ScriptModule | null): void {
    this.registerModule(name, module);
  }

  private _ownCallHooks(): CallHooks {
    prepareOwn(this);
    this._state.calls ??= noCallHooks();
    return this._state.calls;
  }

  /** Calls `hook(module, inputs)` before each `forward`. It may return other inputs. */
  registerForwardPreHook<M extends Module>(this: M, hook: ForwardPreHook<M>, options: HookOptions = {}): HookHandle {
    return this._ownCallHooks().pre.add('registerForwardPreHook', hook, options);
  }

  /** Calls `hook(module, inputs, output)` after each `forward`. It may return another output. */
  registerForwardHook<M extends Module>(this: M, hook: ForwardHook<M>, options: HookOptions = {}): HookHandle {
    return this._ownCallHooks().after.add('registerForwardHook', hook, options);
  }

  /** Calls `hook(module, gradInput, gradOutput)` in each backward through a call of the module. */
  registerFullBackwardHook<M extends Module>(
    this: M,
    hook: FullBackwardHook<M>,
    options: HookOptions = {},
  ): HookHandle {
    return this._ownCallHooks().backward.add('registerFullBackwardHook', hook, options);
  }

  private _stateHooks(): StateHooks {
    this._state.hooks ??= new StateHooks();
    return this._state.hooks;
  }

  /** Calls `hook(module, prefix)` before the module's part of a state dict is made. */
  registerStateDictPreHook(hook: (module: any, prefix: string) => void): HookHandle {
    return this._stateHooks().before.add('registerStateDictPreHook', hook);
  }

  /** Calls `hook(module, stateDict, prefix)` after the module's part of a state dict is made. It may return another dict. */
  registerStateDictHook(hook: StateDictHook): HookHandle {
    return this._stateHooks().after.add('registerStateDictHook', hook);
  }

  /** Calls `hook(stateDict, prefix)` before the module's part is loaded. It may change the dict, which is a copy. */
  registerLoadStateDictPreHook(hook: LoadStateDictPreHook): HookHandle {
    return this._stateHooks().beforeLoad.add('registerLoadStateDictPreHook', hook);
  }

  /** Calls `hook(module, incompatibleKeys)` after loading, for inner modules first. It may change the lists of keys. */
  registerLoadStateDictPostHook(hook: LoadStateDictPostHook): HookHandle {
    return this._stateHooks().afterLoad.add('registerLoadStateDictPostHook', hook);
  }

  /** Parameters and persistent buffers by name. The tensors are new handles that share the module's memory. */
  stateDict(options: StateDictOptions = {}): StateDict {
    return stateOf(this, options);
  }

  /** Copies the tensors of a state dict into the parameters and buffers. Changes nothing if a key or shape does not fit. */
  loadStateDict(dict: object, options: LoadStateDictOptions = {}): IncompatibleKeys {
    return loadState(this, dict, options);
  }

  /** What a class keeps in state dicts besides its tensors, at `_extra_state`. For `torch.save` it must be plain. */
  getExtraState?(): unknown;

  /** Takes what `getExtraState` gave, after the tensors were loaded. */
  setExtraState?(state: any): void;

  /** Tokens for the parameters and buffers, by name, which can be posted to other threads. Nothing is copied. */
  share(): SharedModule {
    return sharedOf(this);
  }

  /**
   * Puts the parameters and buffers on the memory of those of the module whose `share()` gave the tokens, in any thread of
   * the process. Changes nothing if a name or shape does not fit.
   */
  loadShared(shared: Readonly<Record<string, SharedTensor>>, options: LoadOptions = {}): IncompatibleKeys {
    return loadShared(this, shared, options);
  }

  /** Changes a state dict of an older version, for `loadStateDict`. @internal */
  _beforeLoad(_dict: StateDict, _prefix: string): void {}

  /** A copy with its own parameters and buffers. Other properties are the same values; private fields (`#name`) are lost. */
  deepCopy(): this {
    return deepCopyOf(this, Module) as this;
  }

  /** The arguments that `String(module)` shows, as Python writes them. */
  extraRepr(): string {
    return '';
  }

  /** @internal The lines of `String(module)` for submodules, from their keys and texts. */
  _lines(children: readonly (readonly [key: string, text: string])[]): string[] {
    return children.map(([key, text]) => `(${key}): ${text}`);
  }

  /** The state dict with the elements of its tensors, for `JSON.stringify`. */
  toJSON(): Record<string, unknown> {
    return jsonOf(this);
  }

  toString(): string {
    return textOf(this);
  }

  [inspect](): string {
    return textOf(this);
  }

  /** Releases the parameters and buffers of this module and those in it. Further calls do nothing. */
  dispose(): void {
    for (const [, module] of this._tree('', true, new Set(), false)) {
      for (const [, parameter] of module._ownParameters()) parameter.dispose();
      for (const [, buffer] of module._ownBuffers()) buffer.dispose();
      module._state.dispose();
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

Object.defineProperty(markCopy(refuseForeignCopies(bringsTensors(Module))), '_names', { value: {}, writable: true });

/** Sets Python's names of a built-in class's properties. */
export function name(cls: { prototype: Module }, names: Readonly<Record<string, string>>): void {
  Object.defineProperty(cls.prototype, '_names', { value: names });
}
