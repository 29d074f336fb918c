/**
 * Fused steps: one op of libtorch changes all parameters of a device and dtype, and their states. From libtorch 2 on; the
 * calls are those of `_fused_adam`, `_fused_sgd` and `_fused_adagrad` in Python's torch/optim.
 */
import { ops } from '../call/raw';
import type { Tensor } from '../tensor/tensor';
import { unfit } from './optimizer';
import { since } from './release';
import { owned, type ParamState } from './state-dict';

/** A parameter with a gradient, in a step. */
export interface Due {
  readonly parameter: Tensor;
  readonly grad: Tensor;
  readonly state: ParamState;
}

type Op = (...args: unknown[]) => unknown;
const op = (name: string): Op => ops.aten![name]!.default as unknown as Op;

/** libtorch has fused kernels for the CPU. Python 1.13 has Adam's alone, for CUDA. */
export const hasFused = since(2, 4);

/** Options of an op, by their names in its schema. */
export type OpOptions = Readonly<Record<string, number | boolean>>;

/** Refuses options that Python refuses beside `fused`. */
export function checkFused(fn: string, { fused, foreach, differentiable }: Readonly<Record<string, unknown>>): void {
  if (fused !== true) return;
  if (differentiable === true) throw unfit(fn, 'expected differentiable: false, got true, since fused is true');
  if (foreach === true) throw unfit(fn, 'expected foreach: null, got true, since fused is true');
}

/** Refuses a parameter or gradient that the kernels do not take. */
export function acceptFused(fn: string, parameter: Tensor, grad: Tensor): void {
  if (grad.isSparse) throw unfit(fn, 'expected a dense gradient, since fused is true, got a sparse one');
  if (!/^b?float/.test(parameter.dtype)) {
    throw unfit(fn, `expected floating-point parameters, since fused is true, got ${parameter.dtype}`);
  }
}

/** The rows by device and dtype, each in the order of the parameters. */
function byKind(due: readonly Due[]): Due[][] {
  const kinds = new Map<string, Due[]>();
  for (const one of due) {
    const kind = `${one.parameter.device} ${one.parameter.dtype}`;
    const rows = kinds.get(kind);
    if (rows === undefined) kinds.set(kind, [one]);
    else rows.push(one);
  }
  return [...kinds.values()];
}

const of = (rows: readonly Due[], key: string): Tensor[] => rows.map(({ state }) => state[key] as Tensor);
const parametersOf = (rows: readonly Due[]) => rows.map(({ parameter }) => parameter);
const gradientsOf = (rows: readonly Due[]) => rows.map(({ grad }) => grad);

function count(rows: readonly Due[]): Tensor[] {
  const steps = of(rows, 'step');
  for (const step of steps) step.add_(1);
  return steps;
}

export function fusedAdam(due: readonly Due[], isDecoupled: boolean, options: OpOptions): void {
  const call = op(isDecoupled ? '_fused_adamw_' : '_fused_adam_');
  for (const rows of byKind(due)) {
    const largest = options.amsgrad ? of(rows, 'max_exp_avg_sq') : [];
    const moments = [of(rows, 'exp_avg'), of(rows, 'exp_avg_sq'), largest];
    call(parametersOf(rows), gradientsOf(rows), ...moments, count(rows), options);
  }
}

export function fusedAdagrad(due: readonly Due[], options: OpOptions): void {
  for (const rows of byKind(due)) {
    op('_fused_adagrad_')(parametersOf(rows), gradientsOf(rows), of(rows, 'sum'), count(rows), options);
  }
}

/** The first step of a parameter makes its momentum, which then begins with the gradient. */
export function fusedSgd(due: readonly Due[], options: OpOptions): void {
  const isFirst = ({ state }: Due) => options.momentum !== 0 && state.momentum_buffer == null;
  const [first, later] = [due.filter(isFirst), due.filter((one) => !isFirst(one))];
  for (const [all, is_first_step] of [[first, true] as const, [later, false] as const]) {
    for (const rows of byKind(all)) {
      if (is_first_step) for (const { grad, state } of rows) state.momentum_buffer = owned(grad.emptyLike() as Tensor);
      const buffers = options.momentum === 0 ? [] : of(rows, 'momentum_buffer');
      op('_fused_sgd_')(parametersOf(rows), gradientsOf(rows), buffers, { ...options, is_first_step });
    }
  }
}
