/**
 * Functions that PyTorch implements in Python on top of ops. Their signatures are in codegen/spec/public.yaml and use the
 * parser of the ops, so calls and errors work the same; this module runs the implementation once a call fits.
 */
import { types } from 'node:util';
import type { DTypeLike } from '../../types/base';
import { canonicalDtype } from '../addon/enums';
import { publics } from '../addon/wrappers';
import type { TorchError } from '../errors/errors';
import { Kind, Plain } from '../generated/codes';
import { ownScope } from '../lifetimes/scope';
import { isPendingTensor, withTensorsOnly } from '../tensor/pending';
import { anyOf, elementsOf, readCall } from '../tensor/reading';
import { bare, resultAsGiven, secondNames } from '../tensor/second-name';
import { isGenuine, isTensor, notThis, requireLive, type Tensor } from '../tensor/tensor';
import { type Site, siteOf } from './call-cache';
import { integers } from './packed';
import type { Bound } from './parse';
import { isPlain } from './plain';
import { bound, run } from './runtime';
import { decodeSignature, type Param, type Signature, signature } from './signature';

/** Takes the arguments in the order of the signature, in normalized form: see `argumentsOf`. */
export type Implementation = (...args: any[]) => unknown;

interface Entry {
  readonly signatures: readonly Signature[];
  /** One implementation per signature, or one for all. */
  readonly run: readonly Implementation[];
}

const implementations = new Map<string, readonly Implementation[]>();
const entries = new Map<string, Entry>();
/** Loads the modules that call `define`; they are needed when the first of their functions is called. */
let load = (): object => [];
const keyOf = (space: string, name: string) => (space === '' ? name : `${space}.${name}`);

/** `loadAll` loads all modules that call `define`. It is called once for each function. */
export function implementLate(loadAll: () => object): void {
  load = loadAll;
}

/** Registers implementations. `spaces` are those of public.yaml: '' for torch, 'nn.functional', 'Tensor' for methods. */
export function define(spaces: readonly string[], functions: Record<string, Implementation | Implementation[]>): void {
  for (const [name, implementation] of Object.entries(functions)) {
    const list = Array.isArray(implementation) ? implementation : [implementation];
    for (const space of spaces) implementations.set(keyOf(space, name), list);
  }
}

/** Wraps an implementation that makes intermediate tensors, and releases them when it ends. */
export function composed(implementation: Implementation): Implementation {
  const inScope = (...args: unknown[]) => ownScope(() => implementation(...args));
  // Tests compare the number of parameters with the signature's.
  return Object.defineProperty(inScope, 'length', { value: implementation.length });
}

function entryOf(space: string, name: string): Entry {
  const key = keyOf(space, name);
  let entry = entries.get(key);
  if (entry === undefined) {
    const signatures = publics[space]![name]!.map((texts) => {
      const decoded = decodeSignature(-1, texts);
      // The first argument of a method is `this`, whatever Python calls it.
      return space === 'Tensor' ? { ...decoded, self: 0 } : decoded;
    });
    load();
    entry = { signatures, run: implementations.get(key)! };
    entries.set(key, entry);
  }
  return entry;
}

/** An integer as a number if that is exact, for arithmetic in implementations. */
function narrow(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * Normalizes an argument for implementations: tensors and names unchanged, dtypes by canonical name, numbers as parsed (a
 * zero-dimensional tensor is its number), lists of fixed length expanded to that length, null for none.
 */
function argumentOf({ type, defaultValue }: Param, value: unknown, given: unknown): unknown {
  if (given === undefined) return defaultValue;
  if (given === null) return null;
  if (type.list && type.elementNullable && type.base !== Kind.Tensor) {
    return Array.isArray(given) ? given : new Array(type.size).fill(given);
  }
  switch (type.base) {
    case Kind.Int:
      return type.list ? (value as unknown[]).map(narrow) : narrow(value);
    case Kind.Float:
      return type.list ? (value as unknown[]).map(Number) : Number(value);
    case Kind.Scalar:
      return value;
    case Kind.Dtype:
      return type.list
        ? [...elementsOf(given)!].map((one) => canonicalDtype(one as DTypeLike))
        : canonicalDtype(given as DTypeLike);
    default:
      if (type.base === Kind.Any) return type.list ? elementsOf(given)!.map(anyOf) : anyOf(given);
      return type.list ? [...(elementsOf(given) ?? (value as unknown[]))] : given;
  }
}

const argumentsOf = ({ signature: { params }, values, given }: Bound): unknown[] =>
  params.map((param, i) => argumentOf(param, values[i], given[i]));

/**
 * The candidates of a public function's name: the overloads of its op, if any, then the hand-written signatures, then overloads
 * that take the name of a dimension, for which `null` is a value too.
 */
interface PublicSite {
  readonly site: Site;
  readonly signatures: readonly Signature[];
  readonly run: readonly Implementation[];
}

const takesName = ({ params }: Signature) => params.some(({ type }) => type.base === Kind.Dimname && !type.list);

/** For callPublic: created on the first call that no fast path took. */
export function publicSite(space: string, name: string, rows: readonly number[]): PublicSite {
  const { signatures, run } = entryOf(space, name);
  const ops = rows.map(signature);
  const candidates = [...ops.filter((op) => !takesName(op)), ...signatures, ...ops.filter(takesName)];
  return { site: siteOf(name, candidates, space === 'Tensor'), signatures, run };
}

/** Calls a public function: its op if that takes the call, else the hand-written implementation. */
export function callPublic(callee: PublicSite, passed: ArrayLike<unknown>, self?: Tensor) {
  const { site, signatures, run: implementations } = callee;
  const { name, method } = site;
  if (method && !isTensor(self)) throw notThis(name, self);
  const before = secondNames();
  const found = bound(site, readCall(passed), bare(self));
  if (found.signature.number >= 0) return run(found);
  const number = signatures.indexOf(found.signature);
  const implementation = implementations[number] ?? implementations[0]!;
  const result = carryOut(name, found.signature.params, argumentsOf(found), implementation);
  return resultAsGiven(result, before);
}

/** Runs an implementation. A disposed argument is reported for the function that was called, not for one that it uses. */
function carryOut(name: string, params: readonly Param[], args: unknown[], implementation: Implementation): unknown {
  try {
    return withTensorsOnly(() => implementation(...args));
  } catch (error) {
    if ((error as Partial<TorchError> | null | undefined)?.code === 'ERR_TORCH_DISPOSED') {
      params.forEach(({ jsName }, i) => {
        const value = args[i];
        if (isGenuine(value)) requireLive(name, jsName, value);
        else if (Array.isArray(value)) {
          value.forEach((one, at) => {
            if (isGenuine(one)) requireLive(name, `${jsName}[${at}]`, one);
          });
        }
      });
    }
    throw error;
  }
}

/** A list of integers that needs no conversion, as a copy; undefined for other values. */
function plainList({ type }: Param, value: unknown): number[] | undefined {
  if (type.base !== Kind.Int || type.elementNullable) return undefined;
  const list = integers(value);
  return list !== undefined && (type.size === 0 || list.length === type.size) ? list : undefined;
}

/** Whether a positional argument other than a list needs no conversion. */
function isUnchanged({ type, variadic }: Param, value: unknown): boolean {
  if (variadic) return false;
  if (value === null) return type.nullable;
  if (type.base === Kind.Any) return isGenuine(value) || (typeof value !== 'object' && value !== undefined);
  if (type.plain !== Plain.Tensor) return isPlain(value, type.plain);
  return isGenuine(value) ? value._handle > 0 : !types.isProxy(value) && isPendingTensor(value);
}

/** The arguments of a call that is positional and needs no conversion; undefined for other calls. */
function plainArguments(params: readonly Param[], passed: readonly unknown[]): unknown[] | undefined {
  if (passed.length > params.length) return undefined;
  const args = new Array<unknown>(params.length);
  for (let i = 0; i < params.length; i++) {
    const param = params[i]!;
    if (i < passed.length) {
      if (param.keywordOnly) return undefined;
      const value = passed[i];
      const list = param.type.list && !param.variadic && value !== null ? plainList(param, value) : undefined;
      if (list === undefined && (!isUnchanged(param, value) || (param.type.list && value !== null))) return undefined;
      args[i] = list ?? value;
    } else if (param.optional) args[i] = param.defaultValue;
    else return undefined;
  }
  return args;
}

/** The first signature that takes this number of positional arguments; -1 if the parser has to decide. */
function firstFor(signatures: readonly Signature[], count: number): number {
  const isOpen = ({ params }: Signature) =>
    params.some(({ type, variadic }) => variadic || (type.list && type.size === 0));
  if (signatures.length > 1 && signatures.some(isOpen)) return -1;
  const takes = ({ params }: Signature) =>
    count <= params.length && params.every(({ optional, keywordOnly }, i) => (i < count ? !keywordOnly : optional));
  return signatures.findIndex(takes);
}

/** The function or method of that name, if there is no op. */
export function publicFunction(space: string, name: string): (...args: unknown[]) => unknown {
  const method = space === 'Tensor';
  let entry: Entry | undefined;
  let counted = -1;
  let first = -1;
  let site: PublicSite | undefined;
  const wrapper = function (this: unknown, ...passed: unknown[]): unknown {
    entry ??= entryOf(space, name);
    const all = method ? [this, ...passed] : passed;
    if (counted !== all.length) {
      counted = all.length;
      first = firstFor(entry.signatures, counted);
    }
    if (first >= 0) {
      const { params } = entry.signatures[first]!;
      const implementation = entry.run[first] ?? entry.run[0]!; // before a list is read, which may call this function
      const args = plainArguments(params, all);
      if (args !== undefined) return carryOut(name, params, args, implementation);
    }
    site ??= publicSite(space, name, []);
    return callPublic(site, passed, method ? (this as Tensor) : undefined);
  };
  return Object.defineProperty(wrapper, 'name', { value: name });
}

/** For tests: the implementations by namespace and name, and their numbers of parameters. */
export const arities = (): [key: string, arities: number[]][] =>
  [...implementations].map(([key, list]) => [key, list.map((fn) => fn.length)]);
