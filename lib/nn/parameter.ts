/** torch.nn.Parameter: a tensor that a module owns and an optimizer updates. */

import type { DType, DTypeLike, Shape } from '../../types/base';
import { flagOf, ownOptions } from '../addon/options';
import { lateRow } from '../addon/wrappers';
import { inGradMode } from '../autograd/mode';
import { f } from '../call/runtime';
import { upTo } from '../errors/arity';
import { markCopy } from '../errors/copies';
import { argumentError, disposedError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { refuseReplay, requireComputed, withoutRecording } from '../tensor/pending';
import { requiring } from '../tensor/requiring';
import { constructorKey, guard, isTensor, Tensor } from '../tensor/tensor';
import { type Args, type Factory, factory, flag, intList, made, read } from './arguments';
import { aten } from './ops';

const inspect = Symbol.for('nodejs.util.inspect.custom');

export interface ParameterOptions {
  /** Default: true. */
  requiresGrad?: boolean | undefined;
}

/** What to do with a pending tensor, from which no parameter or buffer can be made. */
export const OUTSIDE = 'await it, or make the module outside torch.run';

/** A second handle of a tensor's memory, without its graph, that no scope owns: the garbage collector does. Made at once, also in torch.run. */
export function held(tensor: Tensor): Tensor {
  refuseReplay('it makes a parameter or a buffer');
  const own = withoutRecording(() => tensor.detach() as Tensor);
  guard(own);
  return own;
}

/**
 * A leaf that shares the memory of `tensor` and requires gradients. No scope owns it: it lives as long as something refers to
 * it, or until `dispose()`. As a property of a module it is one of its `parameters()`.
 */
export class Parameter<D extends DType = DType, S extends Shape = Shape> extends Tensor<D, S> {
  constructor(tensor: Tensor<D, S>, options?: ParameterOptions | boolean);
  constructor(...passed: [tensor: Tensor<D, S>, options?: ParameterOptions | boolean]) {
    const [tensor, options = {}] = upTo('nn.Parameter', 2, passed);
    const given = typeof options === 'boolean' ? { requiresGrad: options } : options;
    const { requiresGrad = true } = ownOptions('nn.Parameter', given, ['requiresGrad']);
    if (!isTensor(tensor)) throw argumentError('nn.Parameter', 'tensor', 'a Tensor', tensor);
    if (typeof requiresGrad !== 'boolean') {
      throw argumentError('nn.Parameter', 'requiresGrad', 'a boolean', requiresGrad);
    }
    requireComputed('nn.Parameter', 'tensor', tensor, OUTSIDE);
    if (tensor.disposed) throw disposedError('nn.Parameter', tensor._handle, 'tensor');
    const own = held(tensor);
    super(own._handle, constructorKey);
    this._guard = own._guard;
    if (requiresGrad) requiring(this);
  }

  [inspect](): string {
    if (typeof this._handle !== 'number') return 'Parameter {}';
    return this.disposed ? 'Parameter { disposed }' : `Parameter containing:\n${this.toString()}`;
  }
}

/** Whether a property that has the value may become a buffer. */
export const isUntrained = (value: unknown): boolean => isTensor(value) && !(value instanceof Parameter);

export interface BufferOptions {
  /** Whether it is part of the state dict. Default: true. */
  persistent?: boolean | undefined;
}

/** A tensor that is a buffer of the module whose property it is. It shares the memory of `tensor`; no scope owns it. */
export class Buffer<D extends DType = DType, S extends Shape = Shape> extends Tensor<D, S> {
  readonly persistent: boolean;

  constructor(tensor: Tensor<D, S>, options?: BufferOptions | boolean);
  constructor(...passed: [tensor: Tensor<D, S>, options?: BufferOptions | boolean]) {
    const [tensor, options = {}] = upTo('nn.Buffer', 2, passed);
    const given = typeof options === 'boolean' ? { persistent: options } : options;
    const { persistent = true } = ownOptions('nn.Buffer', given, ['persistent']);
    if (!isTensor(tensor)) throw argumentError('nn.Buffer', 'tensor', 'a Tensor', tensor);
    if (typeof persistent !== 'boolean') throw argumentError('nn.Buffer', 'persistent', 'a boolean', persistent);
    requireComputed('nn.Buffer', 'tensor', tensor, OUTSIDE);
    if (tensor.disposed) throw disposedError('nn.Buffer', tensor._handle, 'tensor');
    const own = held(tensor);
    super(own._handle, constructorKey);
    this._guard = own._guard;
    this.persistent = persistent;
  }
}

const uninitialized = (requiresGrad: boolean) => ({ requiresGrad: flag(requiresGrad), ...factory });
const specs = { parameter: uninitialized(true), buffer: uninitialized(false) };
type UninitializedArgs = Args<
  [requiresGrad?: boolean, device?: string | null, dtype?: DTypeLike | null],
  typeof specs.parameter
>;

/** A tensor that no scope owns, for a shape that is not known yet. */
function withoutShape(options: Factory): Tensor {
  const empty = aten.empty([0], made(options)) as Tensor;
  try {
    return held(empty);
  } finally {
    empty.dispose();
  }
}

const materializing = { shape: intList(), ...factory };
type MaterializeArgs = Args<
  [shape: number | readonly number[], device?: string | null, dtype?: DTypeLike | null],
  typeof materializing
>;

/** Gives a tensor a shape, on its own device and in its own dtype unless others are given. */
function materialize(target: Tensor, name: string, passed: MaterializeArgs): void {
  const { shape, device, dtype } = read(`${name}.materialize`, materializing, passed);
  const options = { device: device ?? target.device, dtype: dtype ?? target.dtype };
  ownScope(() => materialized(target, aten.empty(shape, options) as Tensor));
}

/** A parameter of a lazy module whose shape is not known yet. The module's first `forward` makes it a Parameter. */
export class UninitializedParameter extends Parameter {
  constructor(...passed: UninitializedArgs) {
    const given = read('UninitializedParameter', specs.parameter, passed);
    const own = withoutShape(given);
    try {
      super(own, given.requiresGrad);
    } finally {
      own.dispose();
    }
  }

  /** Makes it a Parameter of a shape, without values. */
  materialize(...passed: MaterializeArgs): void {
    materialize(this, 'UninitializedParameter', passed);
  }

  override [inspect](): string {
    return '<UninitializedParameter>';
  }
}

/** A buffer of a lazy module whose shape is not known yet. The module's first `forward` makes it a Tensor. */
export class UninitializedBuffer extends Tensor {
  constructor(...passed: UninitializedArgs) {
    const given = read('UninitializedBuffer', specs.buffer, passed);
    const own = withoutShape(given);
    super(own._handle, constructorKey);
    this._guard = own._guard;
    if (given.requiresGrad) requiring(this);
  }

  /** Makes it a Tensor of a shape, without values. */
  materialize(...passed: MaterializeArgs): void {
    materialize(this, 'UninitializedBuffer', passed);
  }

  [inspect](): string {
    return '<UninitializedBuffer>';
  }
}

/** Gives an uninitialized parameter or buffer the memory of `tensor`. */
export function materialized(target: Tensor, tensor: Tensor): void {
  const { requiresGrad } = target;
  inGradMode(false, () => setData(target, tensor));
  Object.setPrototypeOf(target, (target instanceof Parameter ? Parameter : Tensor).prototype);
  if (target.requiresGrad !== requiresGrad) target.requiresGrad = requiresGrad;
}

const setDataRow = lateRow('set_data');

/** Replaces the memory behind a tensor, as Python's `tensor.data = other` does: the handle and its graph stay. */
export function setData(target: Tensor, data: Tensor): void {
  f[setDataRow()]!(target._handle, data._handle);
}

/** A tensor that no scope owns. */
export function owned(value: unknown): unknown {
  if (isTensor(value) && value._handle > 0 && !value.disposed) guard(value);
  return value;
}

/** Drops the gradients, or with `setToNone: false` sets them to zero. */
export function zeroGrads(
  fn: string,
  parameters: readonly Parameter[],
  options: { setToNone?: boolean | undefined },
): void {
  const setToNone = flagOf(fn, 'setToNone', ownOptions(fn, options, ['setToNone']).setToNone, true);
  for (const parameter of parameters) {
    if (setToNone) parameter.grad = null;
    else if (parameter.grad !== null) inGradMode(false, () => zeroed(parameter.grad!));
  }
}

function zeroed(grad: Tensor): void {
  if (grad.requiresGrad) grad.detach_();
  grad.zero_();
  grad.dispose();
}

markCopy(Parameter);
markCopy(Buffer);
