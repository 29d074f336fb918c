/** Checks of options. */
import { ownOptions } from '../addon/options';
import { argumentError, refusal } from '../errors/errors';
import { isTensor } from '../tensor/tensor';
import { defaults } from './release';

export type Check = (fn: string, name: string, value: unknown) => void;

const demand =
  (expected: string, is: (value: any) => boolean): Check =>
  (fn, name, value) => {
    if (!is(value)) throw argumentError(fn, name, expected, value);
  };

const isNumber = (value: unknown): value is number => typeof value === 'number';
/** A tensor of one element stands for its number, as in Python. */
const isRate = (value: unknown, fits: (value: number) => boolean): boolean =>
  isNumber(value)
    ? fits(value)
    : isTensor(value) && value.numel === 1 && isReal(value.dtype) && fits(value.item() as number);
const isReal = (dtype: string) => /^b?float/.test(dtype);
const isPair = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every(isNumber);
const isBeta = (value: number) => value >= 0 && value < 1;

export const number = demand('a number', isNumber);
const atLeast0 = demand('a number of 0 or more', (value) => isNumber(value) && value >= 0);
const above0 = demand('a number above 0', (value) => isNumber(value) && value > 0);
const from0To1 = demand('a number from 0 to 1', (value) => isNumber(value) && value >= 0 && value <= 1);
const rate = demand('a number of 0 or more, or a floating-point Tensor of one', (value) =>
  isRate(value, (number) => number >= 0),
);
const count = demand('an integer of 0 or more', (value) => Number.isInteger(value) && value >= 0);
const flag = demand('a boolean', (value) => typeof value === 'boolean');
const choice = demand('a boolean or null', (value) => value === null || typeof value === 'boolean');
const pair = demand('two numbers', isPair);
const betas = demand('two numbers of 0 or more and below 1', (value) => isPair(value) && value.every(isBeta));
const etas = demand(
  'two numbers, the first between 0 and 1, the second above 1',
  (value) => isPair(value) && 0 < value[0] && value[0] < 1 && 1 < value[1],
);
const search = demand("'strong_wolfe' or null", (value) => value === null || value === 'strong_wolfe');

const usual: Readonly<Record<string, Check>> = {
  lr: rate,
  betas,
  eps: atLeast0,
  weightDecay: atLeast0,
  momentum: atLeast0,
  dampening: number,
  momentumDecay: atLeast0,
  lrDecay: atLeast0,
  initialAccumulatorValue: atLeast0,
  rho: from0To1,
  alpha: atLeast0,
  lambd: number,
  t0: number,
  etas,
  stepSizes: pair,
  maxIter: count,
  maxEval: demand(
    'an integer of 0 or more, or null',
    (value) => value === null || (Number.isInteger(value) && value >= 0),
  ),
  toleranceGrad: number,
  toleranceChange: number,
  historySize: count,
  lineSearchFn: search,
  amsgrad: flag,
  maximize: flag,
  centered: flag,
  nesterov: flag,
  capturable: flag,
  differentiable: flag,
  decoupledWeightDecay: flag,
  beta2Decay: demand('a number of 0 or less', (value) => isNumber(value) && value <= 0),
  d: demand('a number of 1 or more', (value) => isNumber(value) && value >= 1),
  nsCoefficients: demand(
    'three numbers',
    (value) => Array.isArray(value) && value.length === 3 && value.every(isNumber),
  ),
  nsSteps: count,
  adjustLrFn: demand(
    "'original', 'match_rms_adamw', 'spectral_unclamped' or null",
    (value) => value === null || ['original', 'match_rms_adamw', 'spectral_unclamped'].includes(value),
  ),
  foreach: choice,
  fused: choice,
};

/** What only one optimizer demands. */
const special: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  SparseAdam: {
    lr: demand('a number above 0, or a floating-point Tensor of one', (value) => isRate(value, (number) => number > 0)),
    eps: above0,
  },
  Adafactor: {
    eps: demand(
      'a number of 0 or more or null, and a number of 0 or more',
      (value) => Array.isArray(value) && value.length === 2 && (value[0] === null || value[0] >= 0) && value[1] >= 0,
    ),
  },
  ASGD: { alpha: number },
  LBFGS: { lr: demand('a number, or a floating-point Tensor of one element', (value) => isRate(value, () => true)) },
};

/** The options of a built-in optimizer, complete and checked. `undefined` is a missing one that each group must give. */
export function optionsOf<O extends object>(name: string, given: O): Required<O> {
  const fn = `optim.${name}`;
  const known = defaults[name]!;
  // Python takes the learning rate by position too.
  if (typeof given === 'number') {
    throw refusal(fn, 'options', 'an object', `${given}; options go by name: { lr: ${given} }`);
  }
  const own = ownOptions(fn, given as Record<string, unknown>, Object.keys(known));
  const all: Record<string, unknown> = {};
  for (const [key, usualValue] of Object.entries(known)) {
    const value = own[key] === undefined ? usualValue : own[key];
    all[key] = Array.isArray(value) ? [...value] : value;
    if (value !== undefined) (special[name]?.[key] ?? usual[key]!)(fn, key, value);
  }
  return all as Required<O>;
}

/** Numbers; Adafactor's first `eps` may be null. */
const isList = (value: unknown, length: number, name: string): boolean =>
  Array.isArray(value) &&
  value.length === length &&
  value.every((one, i) => isNumber(one) || (one === null && name === 'eps' && i === 0));

/** None and a missing flag count as false, as in Python: state dicts of 2.x have `fused: None`. */
function isLike(value: unknown, like: unknown, name: string): boolean {
  if (name === 'lr' && typeof like === 'number') return isRate(value, () => true);
  if (Array.isArray(like)) return isList(value, like.length, name);
  if (typeof like === 'boolean' && (value === null || value === undefined)) return true;
  return like === null || like === undefined || typeof value === typeof like;
}

/** As in Python, values of a group are not limited as those of the constructor are; their kinds are checked. */
export function checkKinds(fn: string, group: object, known: Readonly<Record<string, unknown>>): void {
  for (const [key, like] of Object.entries(known)) {
    const value = (group as Record<string, unknown>)[key];
    if (isLike(value, like, key)) continue;
    const expected = Array.isArray(like)
      ? `${like.length === 2 ? 'two' : like.length} numbers`
      : key === 'lr' && typeof like === 'number'
        ? 'a number, or a floating-point Tensor of one element'
        : `a ${typeof like}`;
    throw argumentError(fn, key, expected, value);
  }
}
