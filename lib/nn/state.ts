/** State dicts of modules: making them, and loading them. */
import { native } from '../addon/native';
import { flagOf, ownOptions } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { argumentError, codedError, describe } from '../errors/errors';
import { demandNamed } from '../files/named';
import { ownScope } from '../lifetimes/scope';
import { asUser } from '../lifetimes/user-code';
import { HookList } from '../tensor/hook-list';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { FirstForward } from './first-forward';
import type { CallHooks } from './hooks';
import type { Module } from './module';
import {
  Buffer,
  held,
  materialized,
  Parameter,
  setData,
  UninitializedBuffer,
  UninitializedParameter,
} from './parameter';
import { isOfModel } from './registration';
import type { Computed } from './utils/computed';
import { demandPrefix } from './walk';

/** Parameters and buffers by name, and at `…_extra_state` what `getExtraState` of modules gives. */
export type StateDict = Record<string, Tensor>;

export interface StateDictOptions {
  /** Put before each name. */
  prefix?: string | undefined;
  /** Give the parameters themselves instead of detached tensors. */
  keepVars?: boolean | undefined;
}

export interface LoadOptions {
  /** Refuse a dict with missing or unexpected keys. Default: true. */
  strict?: boolean | undefined;
}

export interface LoadStateDictOptions extends LoadOptions {
  /** Use the memory of the dict's tensors instead of copying it. Default: false. */
  assign?: boolean | undefined;
}

/** The keys that a module has and the dict lacks, and the other way round. */
export interface IncompatibleKeys {
  missingKeys: string[];
  unexpectedKeys: string[];
}

// biome-ignore lint/suspicious/noConfusingVoidType: the type of a function without a return
export type StateDictHook = (module: any, stateDict: StateDict, prefix: string) => StateDict | null | undefined | void;
export type LoadStateDictPreHook = (stateDict: StateDict, prefix: string) => void;
export type LoadStateDictPostHook = (module: any, incompatibleKeys: IncompatibleKeys) => void;

export class StateHooks {
  readonly before = new HookList<(module: any, prefix: string) => void>();
  readonly after = new HookList<StateDictHook>();
  readonly beforeLoad = new HookList<LoadStateDictPreHook>();
  readonly afterLoad = new HookList<LoadStateDictPostHook>();
}

/** What a module has besides its properties. */
export class ModuleState {
  /** Registered buffers, and whether they are part of the state dict. */
  readonly buffers = new Map<string, boolean>();
  /** Tensors that pre-hooks compute, by property: see utils/computed.ts. */
  readonly computed = new Map<string, Computed>();
  /** Handles of tensors that others replaced: `dispose` releases them too. */
  private readonly _retired = new Set<number>();
  /** The model that a module shows: the same. */
  model: { dispose(): void } | null = null;
  /** Keys of parameters and buffers that functions of torch.nn.utils added, by property. */
  readonly keys = new Map<string, string>();
  /** Of a lazy module, until then. */
  firstForward: FirstForward | null = null;
  /** Null without hooks. */
  calls: CallHooks | null = null;
  hooks: StateHooks | null = null;

  /** Notes a tensor to be released. Its handle does not keep it: the program may lose it, and the collector frees it. */
  retire(handle: number): void {
    for (const one of this._retired) if (!native.isLive(one)) this._retired.delete(one);
    if (handle > 0) this._retired.add(handle); // torch.run frees its pending tensors itself
  }

  dispose(): void {
    for (const { tensor } of this.computed.values()) tensor.dispose();
    for (const handle of this._retired) native.free(handle);
    this.model?.dispose();
  }
}

/** The parameters, then the persistent buffers, of one module, by property name. */
function ownState(module: Module): [name: string, tensor: Tensor][] {
  const { buffers } = module._state;
  const kept = module
    ._ownBuffers()
    .filter(([name, tensor]) => buffers.get(name) ?? (tensor instanceof Buffer && tensor.persistent));
  return [...module._ownParameters(), ...kept];
}

/** The key of what `getExtraState` gives. */
const EXTRA = '_extra_state';

const refuseCycle = (module: Module) =>
  codedError(
    TypeError,
    'ERR_TORCH_ARGUMENT',
    `stateDict: expected a tree of modules, got ${module.constructor.name} in itself`,
  );

export function stateOf(module: Module, options: StateDictOptions): StateDict {
  const { prefix = '', keepVars } = ownOptions('stateDict', options, ['prefix', 'keepVars']);
  demandPrefix('stateDict', prefix);
  return addState(module, {}, prefix, flagOf('stateDict', 'keepVars', keepVars, false), []);
}

/** The state with the elements of its tensors, for JSON. */
export const jsonOf = (module: Module): Record<string, unknown> =>
  ownScope(() => {
    const entries: [string, unknown][] = Object.entries(module.stateDict());
    return Object.fromEntries(entries.map(([key, value]) => [key, isTensor(value) ? value.toArray() : value]));
  });

function addState(module: Module, dict: StateDict, prefix: string, keepVars: boolean, around: Module[]): StateDict {
  if (around.includes(module)) throw refuseCycle(module);
  const { hooks } = module._state;
  for (const hook of hooks?.before.all() ?? []) hook(module, prefix);
  for (const [name, tensor] of ownState(module)) {
    put(dict, prefix + module._keyOf(name), keepVars ? tensor : (tensor.detach() as Tensor));
  }
  if (module.getExtraState !== undefined) dict[prefix + EXTRA] = module.getExtraState() as Tensor;
  let result = dict;
  for (const [name, child] of module._children()) {
    result = addState(child, result, `${prefix}${module._keyOf(name)}.`, keepVars, [...around, module]);
  }
  for (const hook of hooks?.after.all() ?? []) result = hook(module, result, prefix) ?? result;
  return result;
}

/** Adds an entry. A parameter of a TorchScript model may be called __proto__, which an assignment does not add. */
export const put = (entries: object, key: string, value: unknown): void => {
  if (key !== '__proto__') (entries as Record<string, unknown>)[key] = value;
  else Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
};

export const isLazy = (tensor: Tensor) =>
  tensor instanceof UninitializedParameter || tensor instanceof UninitializedBuffer;

/** A parameter or buffer, and the property that holds it. */
interface Place {
  readonly module: Module;
  readonly name: string;
  readonly target: Tensor;
}

/** What is wrong with a dict, and what to copy. */
interface Plan {
  readonly missing: string[];
  readonly misfits: string[];
  readonly used: Set<string>;
  readonly assign: boolean;
  readonly copies: [place: Place, value: Tensor][];
  /** What `setExtraState` gets. */
  readonly extras: [module: Module, state: unknown][];
}

function plan(module: Module, dict: StateDict, prefix: string, found: Plan, around: Module[]): void {
  if (around.includes(module)) throw refuseCycle(module);
  for (const hook of module._state.hooks?.beforeLoad.all() ?? []) asUser(() => hook(dict, prefix));
  module._beforeLoad(dict, prefix);
  for (const [name, target] of ownState(module)) {
    const key = prefix + module._keyOf(name);
    found.used.add(key);
    const value: unknown = dict[key];
    if (value === undefined) found.missing.push(key);
    else if (!isTensor(value)) found.misfits.push(`${key}: expected a Tensor, got ${describe(value)}`);
    else {
      const replaces = found.assign && target.device === 'meta' && !isOfModel(module);
      const reason = misfit(target, value, found.assign, replaces);
      if (reason === null) found.copies.push([{ module, name, target }, value]);
      else found.misfits.push(`${key}: ${reason}`);
    }
  }
  planExtra(module, dict, prefix + EXTRA, found);
  for (const [name, child] of module._children()) {
    plan(child, dict, `${prefix}${module._keyOf(name)}.`, found, [...around, module]);
  }
}

/** As in Python: without a `setExtraState` the key is unexpected. */
function planExtra(module: Module, dict: StateDict, key: string, found: Plan): void {
  if (module.setExtraState === undefined) return;
  found.used.add(key);
  if (key in dict) found.extras.push([module, dict[key]]);
  else found.missing.push(key);
}

const shapeText = (tensor: Tensor) => `[${tensor.shape.join(', ')}]`;

function fits(target: Tensor, value: Tensor): boolean {
  if (isLazy(target)) return true;
  const [a, b] = [target.shape, value.shape];
  // Python saved numbers as lists of one before 0.4.
  if (a.length === 0 && b.length === 1 && b[0] === 1) return true;
  return a.length === b.length && a.every((size, i) => size === b[i]);
}

/**
 * Why a tensor cannot be copied into a parameter or buffer, or with `assign` replace its memory. `replaces`: a new parameter or
 * buffer takes its place.
 */
export function misfit(target: Tensor, value: Tensor, assign: boolean, replaces = false): string | null {
  if (!fits(target, value)) return `expected shape ${shapeText(target)}, got ${shapeText(value)}`;
  if (!assign) return null;
  if (!replaces && target.layout !== value.layout) return `expected layout ${target.layout}, got ${value.layout}`;
  if (!replaces && (target.device === 'meta') !== (value.device === 'meta')) {
    return `expected device ${target.device}, got ${value.device}`;
  }
  if (target.requiresGrad && !value.isFloatingPoint() && !value.isComplex()) {
    return `expected a floating-point dtype, got ${value.dtype}`;
  }
  return null;
}

/** Gives a parameter or buffer the memory of `value`. */
export function assigned(target: Tensor, value: Tensor): void {
  const plain = value.detach() as Tensor;
  if (isLazy(target)) materialized(target, plain);
  else setData(target, target.ndim === 0 && value.ndim === 1 ? (plain.at(0) as Tensor) : plain);
}

/**
 * The parameter or buffer for one that comes from or goes to 'meta': its handle cannot get the memory (libtorch's set_data). As in
 * Python it is a new object.
 */
export function replacement(target: Tensor, value: Tensor): Tensor {
  const plain = target.ndim === 0 && value.ndim === 1 && !isLazy(target) ? (value.at(0) as Tensor) : value;
  if (target instanceof Parameter) return new Parameter(plain, { requiresGrad: target.requiresGrad });
  if (target instanceof Buffer) return new Buffer(plain, { persistent: target.persistent });
  return held(plain);
}

/** Sets an element of a container, or a property. */
export function setMember(module: Module, name: string, tensor: Tensor): void {
  const { _elements: elements } = module as { _elements?: Map<string, unknown> };
  if (elements?.has(name)) elements.set(name, tensor);
  else (module as unknown as Record<string, Tensor>)[name] = tensor;
}

/** Puts the dict's tensors into the module. A tensor that several properties share stays shared. */
function assignAll(copies: Plan['copies']): void {
  const replaced = new Map<Tensor, Tensor>();
  for (const [{ module, name, target }, value] of copies) {
    if (target.device !== 'meta' || value.device === 'meta') {
      assigned(target, value);
      continue;
    }
    const next = replaced.get(target) ?? replacement(target, value);
    replaced.set(target, next);
    setMember(module, name, next);
  }
  for (const before of replaced.keys()) before.dispose();
}

function copy(target: Tensor, value: Tensor): void {
  if (isLazy(target)) {
    materialized(target, value.to(target.device).clone() as Tensor);
    return;
  }
  target.copy_(target.ndim === 0 && value.ndim === 1 ? (value.at(0) as Tensor) : value);
}

/** A copy of the dict: hooks may change it. */
function copyOf(dict: unknown): StateDict {
  const made = Object.create(null) as StateDict;
  if (dict instanceof Map) {
    for (const [key, value] of dict) made[String(key)] = bare(value);
    return made;
  }
  const expected = 'an object or Map of Tensors';
  if (Array.isArray(dict)) throw argumentError('loadStateDict', 'dict', expected, dict);
  demandNamed('loadStateDict', 'dict', expected, dict);
  for (const key of Object.keys(dict as StateDict)) made[key] = bare((dict as StateDict)[key]!);
  return made;
}

/** The hooks that are called after loading: as in Python, those of inner modules first. */
function hooksAfterLoad(module: Module, seen = new Set<Module>()): [module: Module, hook: LoadStateDictPostHook][] {
  if (seen.has(module)) return [];
  seen.add(module);
  const inner = module._children().flatMap(([, child]) => hooksAfterLoad(child, seen));
  const own = module._state.hooks?.afterLoad.all() ?? [];
  return [...inner, ...own.map((hook): [Module, LoadStateDictPostHook] => [module, hook])];
}

export function loadState(module: Module, dict: unknown, options: LoadStateDictOptions): IncompatibleKeys {
  const { strict = true, assign = false } = ownOptions('loadStateDict', options, ['strict', 'assign']);
  if (typeof strict !== 'boolean') throw argumentError('loadStateDict', 'strict', 'a boolean', strict);
  if (typeof assign !== 'boolean') throw argumentError('loadStateDict', 'assign', 'a boolean', assign);
  const given = copyOf(dict); // getters run in the program's scope
  return ownScope(() => {
    const found: Plan = { missing: [], misfits: [], used: new Set(), assign, copies: [], extras: [] };
    plan(module, given, '', found, []);
    const keys: IncompatibleKeys = {
      missingKeys: found.missing,
      unexpectedKeys: Object.keys(given).filter((key) => !found.used.has(key)),
    };
    const hooks = hooksAfterLoad(module);
    // Hooks may allow keys that differ, and are called when the tensors are there.
    refuseMisfits('loadStateDict', module, keys, found.misfits, strict && hooks.length === 0);
    inGradMode(false, () => {
      if (assign) assignAll(found.copies);
      else for (const [{ target }, value] of found.copies) copy(target, value);
    });
    for (const [inner, state] of found.extras) asUser(() => inner.setExtraState!(state));
    for (const [inner, hook] of hooks) asUser(() => hook(inner, keys));
    refuseMisfits('loadStateDict', module, keys, [], strict);
    return keys;
  }, false);
}

export function refuseMisfits(
  fn: 'loadShared' | 'loadStateDict',
  module: Module,
  keys: IncompatibleKeys,
  misfits: string[],
  strict: boolean,
): void {
  const { missingKeys, unexpectedKeys } = keys;
  const lines: string[] = [];
  if (strict && missingKeys.length > 0) lines.push(`missing keys: ${missingKeys.join(', ')}`);
  if (strict && unexpectedKeys.length > 0) lines.push(`unexpected keys: ${unexpectedKeys.join(', ')}`);
  lines.push(...misfits);
  if (lines.length === 0) return;
  const [argument, got] = fn === 'loadShared' ? ['shared', 'tokens that differ'] : ['dict', 'a dict that differs'];
  const text = `${fn}: expected the keys and shapes of ${module.constructor.name}, got ${got}`;
  const error = codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${text}:\n  ${lines.join('\n  ')}`);
  throw Object.assign(error, {
    op: fn,
    argument,
    missingKeys,
    unexpectedKeys,
    mismatches: misfits,
  });
}
