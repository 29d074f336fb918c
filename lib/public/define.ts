/**
 * Functions that PyTorch has in Python over its ops. Their signatures are in codegen/spec/public.yaml and go through the
 * parser of the ops, so that calls and errors are theirs too; here is what runs once a call fits.
 */
import { types } from 'node:util';
import type { DTypeLike } from '../../types/base';
import { isPendingTensor, withTensorsOnly } from '../async/pending';
import { type Site, siteOf } from '../call-cache';
import { canonicalDtype } from '../enums';
import { integers } from '../packed';
import type { Bound } from '../parse';
import { anyOf, elementsOf, readCall } from '../reading';
import { bound, run } from '../runtime';
import { ownScope } from '../scopes/scope';
import { bare, resultAsGiven, secondNames } from '../second-name';
import { decodeSignature, type Param, type Signature, signature } from '../signature';
import { isGenuine, isTensor, notThis, type Tensor } from '../tensor';
import { publics } from '../wrappers';

/** Takes the arguments in the order of the signature, each in one form: see `argumentsOf`. */
export type Implementation = (...args: any[]) => unknown;

interface Entry {
  readonly signatures: readonly Signature[];
  /** One for each signature, or one for all. */
  readonly run: readonly Implementation[];
}

const implementations = new Map<string, readonly Implementation[]>();
const entries = new Map<string, Entry>();
const keyOf = (space: string, name: string) => (space === '' ? name : `${space}.${name}`);

/** Says what runs. `spaces` are those of public.yaml: '' for torch, 'nn.functional', 'Tensor' for methods. */
export function define(spaces: readonly string[], functions: Record<string, Implementation | Implementation[]>): void {
  for (const [name, implementation] of Object.entries(functions)) {
    const list = Array.isArray(implementation) ? implementation : [implementation];
    for (const space of spaces) implementations.set(keyOf(space, name), list);
  }
}

/** An implementation that makes tensors besides its result: they are released when it ends. */
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
    entry = { signatures, run: implementations.get(key)! };
    entries.set(key, entry);
  }
  return entry;
}

/** An integer as a number where that is exact, so that implementations can count with it. */
function narrow(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * The argument as implementations get it: tensors and names as the caller gave them, dtypes by their own name, numbers as
 * the parser reads them (a tensor without dimensions is its number), lists of fixed length at that length, null for none.
 */
function argumentOf({ type, defaultValue }: Param, value: unknown, given: unknown): unknown {
  if (given === undefined) return defaultValue;
  if (given === null) return null;
  if (type.list && type.elementNullable && type.base !== 'T') {
    return Array.isArray(given) ? given : new Array(type.size).fill(given);
  }
  switch (type.base) {
    case 'I':
      return type.list ? (value as unknown[]).map(narrow) : narrow(value);
    case 'F':
      return type.list ? (value as unknown[]).map(Number) : Number(value);
    case 'S':
      return value;
    case 'D':
      return type.list
        ? [...elementsOf(given)!].map((one) => canonicalDtype(one as DTypeLike))
        : canonicalDtype(given as DTypeLike);
    default:
      if (type.base === 'A') return type.list ? elementsOf(given)!.map(anyOf) : anyOf(given);
      return type.list ? [...(elementsOf(given) ?? (value as unknown[]))] : given;
  }
}

const argumentsOf = ({ signature: { params }, values, given }: Bound): unknown[] =>
  params.map((param, i) => argumentOf(param, values[i], given[i]));

/** What a public function's name can call: the overloads of the op behind it, if any, then what is written here. */
interface PublicSite {
  readonly site: Site;
  readonly ops: number;
  readonly run: readonly Implementation[];
}

/** For callPublic: made on the first call that no fast path took. */
export function publicSite(space: string, name: string, rows: readonly number[]): PublicSite {
  const { signatures, run } = entryOf(space, name);
  const site = siteOf(name, [...rows.map(signature), ...signatures], space === 'Tensor');
  return { site, ops: rows.length, run };
}

/** A call of a public function: of the op behind it where that takes it, else of what is written here. */
export function callPublic({ site, ops, run: implementations }: PublicSite, passed: ArrayLike<unknown>, self?: Tensor) {
  const { name, candidates, method } = site;
  if (method && !isTensor(self)) throw notThis(name, self);
  const before = secondNames();
  const found = bound(site, readCall(passed), bare(self));
  if (found.signature.number >= 0) return run(found);
  const number = candidates.indexOf(found.signature) - ops;
  const result = withTensorsOnly(() => (implementations[number] ?? implementations[0]!)(...argumentsOf(found)));
  return resultAsGiven(result, before);
}

/** A list of integers that needs no conversion, in an array of our own; undefined for any other. */
function plainList({ type }: Param, value: unknown): number[] | undefined {
  if (type.base !== 'I' || type.elementNullable) return undefined;
  const list = integers(value);
  return list !== undefined && (type.size === 0 || list.length === type.size) ? list : undefined;
}

/** Whether a positional argument that is no list needs no conversion. */
function isPlain({ type, variadic }: Param, value: unknown): boolean {
  if (variadic) return false;
  if (value === null) return type.nullable;
  switch (type.base) {
    case 'T':
      return isGenuine(value) ? value._handle > 0 : !types.isProxy(value) && isPendingTensor(value);
    case 'F':
      return typeof value === 'number';
    case 'I':
      return Number.isInteger(value);
    case 'B':
      return typeof value === 'boolean';
    case 's':
      return typeof value === 'string';
    default:
      return false;
  }
}

/** The arguments of a call that is positional and needs no conversion; undefined for any other. */
function plainArguments(params: readonly Param[], passed: readonly unknown[]): unknown[] | undefined {
  if (passed.length > params.length) return undefined;
  const args = new Array<unknown>(params.length);
  for (let i = 0; i < params.length; i++) {
    const param = params[i]!;
    if (i < passed.length) {
      if (param.keywordOnly) return undefined;
      const value = passed[i];
      const list = param.type.list && !param.variadic && value !== null ? plainList(param, value) : undefined;
      if (list === undefined && (!isPlain(param, value) || (param.type.list && value !== null))) return undefined;
      args[i] = list ?? value;
    } else if (param.optional) args[i] = param.defaultValue;
    else return undefined;
  }
  return args;
}

/** The function or method of that name, where no op has it. */
export function publicFunction(space: string, name: string): (...args: unknown[]) => unknown {
  const method = space === 'Tensor';
  let only: Entry | undefined | null;
  let site: PublicSite | undefined;
  const wrapper = function (this: unknown, ...passed: unknown[]): unknown {
    if (only === undefined) {
      const entry = entryOf(space, name);
      only = entry.signatures.length === 1 ? entry : null;
    }
    if (only !== null) {
      const all = method ? [this, ...passed] : passed;
      const args = plainArguments(only.signatures[0]!.params, all);
      if (args !== undefined) return withTensorsOnly(() => only!.run[0]!(...args));
    }
    site ??= publicSite(space, name, []);
    return callPublic(site, passed, method ? (this as Tensor) : undefined);
  };
  return Object.defineProperty(wrapper, 'name', { value: name });
}

/** For tests: what is written, by namespace and name, and how many parameters it takes. */
export const arities = (): [key: string, arities: number[]][] =>
  [...implementations].map(([key, list]) => [key, list.map((fn) => fn.length)]);
