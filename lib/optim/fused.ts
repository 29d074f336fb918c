/**
 * Fused steps: one op of libtorch changes all parameters of a device and dtype, and their states. From libtorch 2.4 on; the
 * calls are those of `_fused_adam`, `_fused_sgd` and `_fused_adagrad` in Python's torch/optim.
 */
import { ops } from '../call/raw';
import { codedError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
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

/** Refuses a parameter or gradient that the kernels do not take. The group may ask for them, not only the optimizer. */
export function acceptFused(fn: string, parameter: Tensor, grad: Tensor): void {
  if (!hasFused) {
    const message = `${fn}: expected fused: false, got true, which is not implemented`;
    throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', message);
  }
  if (grad.isSparse) throw unfit(fn, 'expected a dense gradient, since fused is true, got a sparse one');
  if (!/^b?float/.test(parameter.dtype)) {
    throw unfit(fn, `expected floating-point parameters, since fused is true, got ${parameter.dtype}`);
  }
  if (!isDense(parameter)) {
    const got = `shape [${parameter.shape.join(', ')}] with strides [${parameter.strides.join(', ')}]`;
    throw unfit(fn, `expected parameters whose elements fill their memory, since fused is true, got ${got}`);
  }
}

/** The dimensions that have more than one element, the one with the smallest stride first. */
const ordered = ({ shape, strides }: Tensor): { size: number; stride: number; dim: number }[] =>
  shape
    .map((size, dim) => ({ size, stride: strides[dim]!, dim }))
    .filter(({ size }) => size !== 1)
    .sort((a, b) => a.stride - b.stride);

/** Whether the elements are next to each other in memory, each once, in any order of the dimensions. */
function isDense(tensor: Tensor): boolean {
  let expected = 1;
  for (const { size, stride } of tensor.numel === 0 ? [] : ordered(tensor)) {
    if (stride !== expected) return false;
    expected *= size;
  }
  return true;
}

/** Whether two tensors have the same elements at the same places of their memory. The first is dense. */
function isAlike(one: Tensor, other: Tensor): boolean {
  const { shape, strides } = other;
  return (
    shape.length === one.ndim &&
    shape.every((size, dim) => size === one.shape[dim]) &&
    (one.numel === 0 || ordered(one).every(({ stride, dim }) => stride === strides[dim]))
  );
}

/** A tensor with the values of `tensor` and the memory layout of `parameter`. */
function alike(fn: string, parameter: Tensor, tensor: Tensor, name: string): Tensor {
  const { dtype, device } = parameter;
  if (tensor.dtype === dtype && tensor.device === device && isAlike(parameter, tensor)) return tensor;
  if (tensor.shape.join() !== parameter.shape.join()) {
    const expected = `shape [${parameter.shape.join(', ')}]`;
    throw unfit(fn, `${name}: expected ${expected}, since fused is true, got [${tensor.shape.join(', ')}]`);
  }
  return parameter.emptyLike().copy_(tensor) as Tensor;
}

/**
 * The rows as the kernels need them. These walk all tensors of a row in the order of the parameter's memory, and check neither
 * shapes nor strides: of a gradient with other strides Python's fused step takes the wrong elements.
 */
function laidOut(fn: string, due: readonly Due[], keys: readonly string[]): Due[] {
  return due.map(({ parameter, grad, state }) => {
    for (const key of keys) {
      const value: unknown = state[key];
      if (!isTensor(value)) throw unfit(fn, `${key}: expected a Tensor in the state, since fused is true`);
      const its = alike(fn, parameter, value, key);
      if (its !== value) state[key] = owned(its);
    }
    const { step } = state;
    if (isTensor(step) && (step.dtype !== 'float32' || step.numel !== 1)) {
      if (step.numel !== 1) throw unfit(fn, `step: expected one element, got ${step.numel}`);
      state.step = owned(step.to('float32') as Tensor);
    }
    return { parameter, grad: alike(fn, parameter, grad, 'grad'), state };
  });
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

export function fusedAdam(fn: string, due: readonly Due[], isDecoupled: boolean, options: OpOptions): void {
  const call = op(isDecoupled ? '_fused_adamw_' : '_fused_adam_');
  const keys = ['exp_avg', 'exp_avg_sq', ...(options.amsgrad ? ['max_exp_avg_sq'] : [])];
  for (const rows of byKind(laidOut(fn, due, keys))) {
    const largest = options.amsgrad ? of(rows, 'max_exp_avg_sq') : [];
    const moments = [of(rows, 'exp_avg'), of(rows, 'exp_avg_sq'), largest];
    call(parametersOf(rows), gradientsOf(rows), ...moments, count(rows), options);
  }
}

export function fusedAdagrad(fn: string, due: readonly Due[], options: OpOptions): void {
  for (const rows of byKind(laidOut(fn, due, ['sum']))) {
    op('_fused_adagrad_')(parametersOf(rows), gradientsOf(rows), of(rows, 'sum'), count(rows), options);
  }
}

/** The first step of a parameter makes its momentum, which then begins with the gradient. */
export function fusedSgd(fn: string, due: readonly Due[], options: OpOptions): void {
  const hasMomentum = options.momentum !== 0;
  const isFirst = ({ state }: Due) => hasMomentum && state.momentum_buffer == null;
  const first = laidOut(fn, due.filter(isFirst), []);
  const later = laidOut(
    fn,
    due.filter((one) => !isFirst(one)),
    hasMomentum ? ['momentum_buffer'] : [],
  );
  for (const rows of byKind(first)) {
    // They hold no values before the op, so they are not part of the state if it fails.
    const buffers = rows.map(({ parameter }) => parameter.emptyLike() as Tensor);
    op('_fused_sgd_')(parametersOf(rows), gradientsOf(rows), buffers, { ...options, is_first_step: true });
    for (const [i, { state }] of rows.entries()) state.momentum_buffer = owned(buffers[i]!);
  }
  for (const rows of byKind(later)) {
    const buffers = hasMomentum ? of(rows, 'momentum_buffer') : [];
    op('_fused_sgd_')(parametersOf(rows), gradientsOf(rows), buffers, { ...options, is_first_step: false });
  }
}
