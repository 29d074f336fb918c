/**
 * What the formula of each optimizer reads from the state of a parameter, and the check of it. A state may come from a file,
 * from another optimizer, or from a program; without the check its step would fail after some parameters were changed.
 */
import { describe } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { ParamState } from './state-dict';

type Shape = readonly number[];
/**
 * The kind of a value: a tensor of the shape that follows from the parameter's; a tensor of one element; or a number, also in
 * such a tensor. `buffer` is a tensor of the parameter's shape, in the layout of its gradients, that need not be there.
 */
type Kind = ((shape: Shape) => Shape) | 'scalar' | 'number' | 'buffer';
type Needs = Readonly<Record<string, Kind>>;
export type NeedsOf = (parameter: Tensor) => Needs;

type Options = Readonly<Record<string, any>>;

const like = (shape: Shape): Shape => shape;
const row = (shape: Shape): Shape => [...shape.slice(0, -1), 1];
const column = (shape: Shape): Shape => [...shape.slice(0, -2), 1, ...shape.slice(-1)];

/** A number of steps, which some modes take as a tensor only. */
const step = (options: Options, ...modes: string[]): { step: Kind } => ({
  step: modes.some((mode) => options[mode] === true) ? 'scalar' : 'number',
});

const adam = (options: Options): Needs => ({
  ...step(options, 'capturable', 'differentiable', 'fused'),
  exp_avg: like,
  exp_avg_sq: like,
  ...(options.amsgrad ? { max_exp_avg_sq: like } : {}),
});

/** By the class of the library, for the options of a group. LBFGS has one state for all parameters: see lbfgs.ts. */
const all: Readonly<Record<string, (options: Options) => Needs>> = {
  SGD: ({ momentum }): Needs => (momentum === 0 ? {} : { momentum_buffer: 'buffer' }),
  Adam: adam,
  AdamW: adam,
  Adamax: (options) => ({ ...step(options), exp_avg: like, exp_inf: like }),
  NAdam: (options) => ({ ...step(options), mu_product: 'scalar', exp_avg: like, exp_avg_sq: like }),
  RAdam: (options) => ({ ...step(options), exp_avg: like, exp_avg_sq: like }),
  Adagrad: (options) => ({ ...step(options, 'foreach', 'fused'), sum: like }),
  Adadelta: (options) => ({ ...step(options), square_avg: like, acc_delta: like }),
  RMSprop: (options) => ({
    ...step(options),
    square_avg: like,
    ...(options.momentum > 0 ? { momentum_buffer: like } : {}),
    ...(options.centered ? { grad_avg: like } : {}),
  }),
  Rprop: (options) => ({ ...step(options), prev: like, step_size: like }),
  ASGD: (options) => ({ ...step(options, 'foreach'), eta: 'scalar', mu: 'scalar', ax: like }),
  SparseAdam: (options) => ({ ...step(options), exp_avg: like, exp_avg_sq: like }),
  Muon: () => ({ momentum_buffer: like }),
};

/** What the formula of a class needs with the options of a group. Nothing is known of other classes. */
export function needsOf(kind: string, options: Options): NeedsOf | undefined {
  if (kind === 'Adafactor') {
    const vector = { ...step(options), variance: like };
    const matrix = { ...step(options), row_var: row, col_var: column };
    return ({ ndim }) => (ndim < 2 ? vector : matrix);
  }
  const needs = all[kind]?.(options);
  return needs === undefined ? undefined : () => needs;
}

const isOne = (value: unknown): boolean => isTensor(value) && (value.disposed || value.numel === 1);

/** A number, also in a tensor of one element. */
export const isScalar = (value: unknown): boolean => typeof value === 'number' || isOne(value);

const shapeText = (shape: Shape): string => `shape [${shape.join(', ')}]`;

/** Whether a state has no values, as Python tests before it begins a state. */
export function isEmpty(state: ParamState): boolean {
  for (const _ in state) return false;
  return true;
}

/**
 * What is wrong with a state, as `expected …, got …`; null if nothing is. `known`: its tensors were checked before, or made by the
 * optimizer, so their shapes, which are slow to ask for, are right. A disposed tensor has an error of its own.
 */
export function wrongIn(state: ParamState, needs: Needs, parameter: Tensor, known: boolean): string | null {
  for (const key in needs) {
    const kind = needs[key]!;
    const value: unknown = state[key];
    if (kind === 'buffer' && (value === null || value === undefined)) continue;
    if (value === undefined) return `expected '${key}', got keys ${Object.keys(state).join(', ')}`;
    if (kind === 'number' && typeof value === 'number') continue;
    if (!isTensor(value)) {
      const expected = kind === 'number' ? 'a number or a Tensor of one element' : 'a Tensor';
      return `${key}: expected ${expected}, got ${describe(value)}`;
    }
    if (known || value.disposed) continue;
    const { shape } = value;
    if (kind === 'number' || kind === 'scalar') {
      if (value.numel !== 1) return `${key}: expected one element, got ${shapeText(shape)}`;
      continue;
    }
    const expected = kind === 'buffer' ? parameter.shape : kind(parameter.shape);
    if (shape.length !== expected.length || shape.some((size, dim) => size !== expected[dim])) {
      return `${key}: expected ${shapeText(expected)}, got ${shapeText(shape)}`;
    }
    const isComplex = parameter.isComplex();
    if (value.isComplex() !== isComplex) {
      return `${key}: expected ${isComplex ? 'complex' : 'real'} numbers, got ${value.dtype}`;
    }
    if (kind !== 'buffer' && value.isSparse !== parameter.isSparse) {
      return `${key}: expected a ${parameter.isSparse ? 'sparse' : 'dense'} Tensor, got ${describe(value)}`;
    }
  }
  return null;
}
