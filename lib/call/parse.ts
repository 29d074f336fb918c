/**
 * The argument parser: positional arguments in schema order, named ones in a trailing options object, defaults from the
 * schema, overloads in PyTorch's order. (After PyTorch's python_arg_parser.) Generated fast paths give the same results for
 * the calls that they take.
 */

import { describe } from '../errors/errors';
import { Kind } from '../generated/codes';
import { optionsOf, type ReadCall } from '../tensor/reading';
import { isTensor, type Tensor } from '../tensor/tensor';
import { convert, convertDefault, Mismatch } from './convert';
import { type Call, Misfit, type Options, overloadError } from './misfit';
import type { Param, Signature } from './signature';

/** A call that fits one overload. */
export interface Bound {
  signature: Signature;
  /** for the native function */
  values: unknown[];
  /** the caller's values, for results that are arguments; empty if the op only makes a new tensor */
  given: readonly unknown[];
  requiresGrad: boolean;
}

function isIntegerLike(value: unknown): boolean {
  if (Number.isInteger(value) || typeof value === 'bigint') return true;
  return isTensor(value) && value.ndim === 0 && /^u?int/.test(value.dtype);
}

/** `view(2, 3)` for `view([2, 3])`: allowed when a list of integers is the only positional parameter. */
function gatherSizes(positional: readonly unknown[], slots: readonly Param[]): readonly unknown[] {
  const first = slots[0];
  if (slots.length !== 1 || first === undefined || positional.length === 0) return positional;
  if (!first.type.list || first.type.base !== Kind.Int || first.type.size > 0) return positional;
  const integers = positional.every(isIntegerLike);
  return integers ? [positional] : positional;
}

/** Tensors one by one for a list of tensors, where the last positional parameter allows it: `meshgrid(a, b)`. */
function gatherRest(positional: readonly unknown[], slots: readonly Param[]): readonly unknown[] {
  const last = slots[slots.length - 1];
  if (last === undefined || !last.variadic) return positional;
  if (last.type.base === Kind.Any && positional.length === slots.length - 1) return [...positional, []];
  if (positional.length < slots.length) return positional;
  const rest = positional.slice(slots.length - 1);
  // A single list is the list itself; functions that take any values handle it themselves.
  if (rest.length === 1 && last.type.base !== Kind.Any && !isTensor(rest[0])) return positional;
  return [...positional.slice(0, slots.length - 1), rest];
}

/** `out: t` or `out: [a, b]` for the out arguments, which also go by their own names. */
function takeOut(signature: Signature, options: Options): Map<number, unknown> | Misfit {
  const taken = new Map<number, unknown>();
  const { outs } = signature;
  if (!Object.hasOwn(options, 'out') || options.out === undefined) return taken;
  if (outs.length === 0) {
    // In hand-written functions it is an ordinary argument.
    return signature.params.some((param) => param.name === 'out') ? taken : new Misfit({ kind: 'option', name: 'out' });
  }
  if (outs.length === 1) {
    taken.set(outs[0]!, options.out);
    return taken;
  }
  const list = options.out;
  // Some ops name one of several out arguments 'out': a single tensor is that one.
  if (!Array.isArray(list) && outs.some((position) => signature.params[position]!.name === 'out')) return taken;
  if (!Array.isArray(list) || list.length !== outs.length) {
    const mismatch = new Mismatch(`an array of ${outs.length} Tensors`, describe(list), Kind.Tensor, list, true);
    return new Misfit({ kind: 'value', argument: 'out', mismatch });
  }
  outs.forEach((position, i) => {
    taken.set(position, list[i]);
  });
  return taken;
}

/** Whether PyTorch documents None for a default that is a value: an empty list, the dtype of randint. */
export function isNoneByDefault({ type, defaultValue }: Param): boolean {
  if (type.list) return Array.isArray(defaultValue) && defaultValue.length === 0;
  return type.base === Kind.Dtype && typeof defaultValue === 'string';
}

/** Binds a call to an overload, or returns why it does not fit. */
function bind(signature: Signature, call: Call, numbers: boolean): Bound | Misfit {
  const { params } = signature;
  const isSelf = (i: number) => call.self !== undefined && i === signature.self;
  const slots = params.filter((param, i) => !param.keywordOnly && !param.out && !isSelf(i));
  const positional = call.raw ? call.positional : gatherRest(gatherSizes(call.positional, slots), slots);
  if (positional.length > slots.length) {
    return new Misfit({ kind: 'count', most: slots.length, given: positional.length });
  }
  const options = call.options ?? {};
  const outs = takeOut(signature, options);
  if (outs instanceof Misfit) return outs;

  const used = new Set<string>(outs.size > 0 ? ['out'] : []);
  const values: unknown[] = new Array(params.length);
  const given: unknown[] = new Array(params.length);
  let next = 0;
  let fitting = 0;
  for (let i = 0; i < params.length; i++) {
    const param = params[i]!;
    let value: unknown;
    if (isSelf(i)) value = call.self;
    else if (outs.has(i)) value = outs.get(i);
    else if (!param.keywordOnly && !param.out && next < positional.length) value = positional[next++];
    const name = nameIn(options, param, call.raw);
    if (name !== undefined && !used.has(name)) {
      if (value !== undefined) return new Misfit({ kind: 'twice', argument: name }, fitting);
      value = options[name];
      used.add(name);
    }
    if (value === null && isNoneByDefault(param)) value = undefined;
    if (value === undefined) {
      if (!param.optional) {
        return new Misfit({ kind: 'missing', argument: call.raw ? param.name : param.jsName }, fitting);
      }
      values[i] = convertDefault(param.defaultValue, param.type);
      continue;
    }
    const converted = convert(value, param.type, numbers);
    if (converted instanceof Mismatch) {
      const argument = call.raw ? param.name : param.jsName;
      return new Misfit({ kind: 'value', argument, mismatch: converted }, fitting);
    }
    values[i] = converted;
    given[i] = value;
    fitting++;
  }
  let requiresGrad = false;
  for (const name of Object.keys(options)) {
    if (used.has(name) || options[name] === undefined) continue;
    if (name === 'requiresGrad' && signature.factory && !call.raw) {
      if (typeof options[name] !== 'boolean') {
        const mismatch = new Mismatch('boolean', describe(options[name]), Kind.Bool, options[name]);
        return new Misfit({ kind: 'value', argument: name, mismatch }, fitting);
      }
      requiresGrad = options[name];
      continue;
    }
    return new Misfit({ kind: 'option', name }, fitting);
  }
  return { signature, values, given, requiresGrad };
}

/** The option name of a parameter: its own, or PyTorch's `input` for self. */
function nameIn(options: Options, param: Param, raw: boolean): string | undefined {
  const name = raw ? param.name : param.jsName;
  // Only own properties, without those of Object.prototype.
  if (Object.hasOwn(options, name)) return name;
  if (!raw && param.name === 'self' && Object.hasOwn(options, 'input')) return 'input';
  return undefined;
}

function firstFit(
  candidates: readonly Signature[],
  call: Call,
  numbers: boolean,
  misfits?: Misfit[],
): Bound | undefined {
  for (const signature of candidates) {
    const bound = bind(signature, call, numbers);
    if (!(bound instanceof Misfit)) return bound;
    misfits?.push(bound);
  }
  return undefined;
}

/** The first overload that fits a call; throws ERR_TORCH_OVERLOAD with every signature and why it does not fit. */
export function parse(
  name: string,
  candidates: readonly Signature[],
  { positional, keys, values }: ReadCall,
  self?: Tensor,
  raw = false,
): Bound {
  const call: Call = { positional, options: keys === null ? undefined : optionsOf(keys, values), self, raw };
  const misfits: Misfit[] = [];
  // Overloads that take a tensor come before those that take a zero-dimensional tensor as a number.
  if (candidates.length > 1) {
    const strict = firstFit(candidates, call, false);
    if (strict !== undefined) return strict;
  }
  const bound = firstFit(candidates, call, true, misfits);
  if (bound !== undefined) return bound;
  throw overloadError(name, candidates, misfits, call);
}
