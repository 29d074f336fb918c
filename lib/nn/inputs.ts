/** Arguments of `forward`: the tensors that it demands, and further ones by position or by name. */
import { byName, type Mixed } from '../addon/options';
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { nameOf, type Spec } from './arguments';
import type { Module } from './module';

/** For messages: "nn.Linear.forward". */
export const forwardOf = (module: Module): string => `${nameOf(module.constructor.name)}.forward`;

/** Refuses an input that is missing or is not a tensor, before the module reads its properties. */
export function demandTensor(
  module: Module,
  argument: string,
  value: unknown,
  expected = 'a Tensor',
): asserts value is Tensor {
  if (!isTensor(value)) throw argumentError(forwardOf(module), argument, expected, value);
}

/** Refuses an input of other numbers of dimensions. */
export function demandDims(module: Module, input: unknown, dims: readonly number[]): asserts input is Tensor {
  const expected = `a Tensor of ${dims.join(' or ')} dimensions`;
  demandTensor(module, 'input', input, expected);
  if (!dims.includes(input.ndim)) throw argumentError(forwardOf(module), 'input', expected, input);
}

/** The only further argument of a forward: by position, or by name in an object. */
export type OrNamed<Name extends string, T> = T | { readonly [N in Name]?: T | null | undefined } | null;

/** The further arguments of a forward: those of `P` by position, or the first of them and the others by name. */
export type Further<P extends unknown[], Options> = P | Mixed<P, Options>;

/** Further arguments of a forward: positional, or by name in one object. Null for those that are missing. */
export function further(at: string, spec: Spec, passed: readonly unknown[]): unknown[] {
  const names = Object.keys(spec);
  const given = byName(at, names, 0, passed, ' after the inputs');
  return names.map((name) => {
    const value = given[name] ?? null;
    if (value === null) return null;
    const converted: unknown = spec[name]!.convert(value);
    if (converted === undefined) throw argumentError(at, name, spec[name]!.expected, value);
    return converted;
  });
}
