/**
 * The C library's pow, cos and log, which Python's floats use. V8 has its own, whose last bit differs for some arguments. On
 * elements that are not adjacent libtorch's kernels call the C library for each; adjacent ones go to a vector library.
 */
import { spaces } from '../call/functions';
import { tensor } from '../elements/create';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';

/** Two elements, each followed by a gap. */
const apart = (value: number): Tensor =>
  tensor([value, 0, value, 0], { dtype: 'float64', device: 'cpu' }).asStrided([2], [2]) as Tensor;

type Op = (...args: unknown[]) => Tensor;
const op = (name: string): Op => spaces[''][name as never] as Op;
const first = (values: Tensor): number => (values.toArray() as number[])[0]!;

/** The last results: the parameters of an optimizer have the same number of steps, so each power is needed many times. */
const powers = new Map<number, { exponent: number; power: number }>();
const MAX_BASES = 64;

/** Python's `base ** exponent` of floats. */
export function pow(base: number, exponent: number): number {
  const known = powers.get(base);
  if (known?.exponent === exponent) return known.power;
  const power = ownScope(() => first(op('pow')(apart(base), apart(exponent))));
  if (powers.size >= MAX_BASES) powers.clear();
  powers.set(base, { exponent, power });
  return power;
}

/** Python's `math.cos`: the real part of a number of length 1. */
export const cos = (angle: number): number =>
  ownScope(() => first((op('viewAsReal')(op('polar')(apart(1), apart(angle))) as Tensor).select(1, 0) as Tensor));

/** Python's `math.log(value, base)`. */
export const log = (value: number, base: number): number => ownScope(() => ln(value) / ln(base));

const ln = (value: number): number => first(op('xlogy')(apart(1), apart(value)));
