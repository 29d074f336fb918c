/**
 * torch.autograd.functional: Jacobians, Hessians and products with them, with the semantics of PyTorch's functions of the
 * same names. An array takes the place of Python's tuple. See docs/autograd.md.
 */
import type { DType, Shape } from '../../types/base';
import type { Tensor } from '../tensor/tensor';
import { type HessianOptions, type JacobianOptions, runHessian, runJacobian } from './jacobians';
import { runHvp, runJvp, runVhp, runVjp } from './products';
import type { Func, ProductOptions, VectorOptions } from './tuples';

export type { HessianOptions, JacobianOptions } from './jacobians';
export type { ProductOptions, VectorOptions } from './tuples';

/** A tensor, or several. */
export type TensorOrTensors = Tensor | readonly Tensor[];

/** The arguments of a function of such inputs; of `any`, without which a union of both forms would refuse each function: any. */
export type Arguments<I> = 0 extends 1 & I
  ? any[]
  : I extends Tensor
    ? [I]
    : I extends readonly Tensor[]
      ? [...I]
      : never;

/** Tensors of the same shapes. */
export type Like<T> = T extends Tensor ? T : { -readonly [K in keyof T]: T[K] };

/** The derivative of one result with respect to one input. */
export type JacobianBlock<O, I> =
  O extends Tensor<DType, infer SO extends Shape>
    ? I extends Tensor<infer D extends DType, infer SI extends Shape>
      ? Tensor<D, [...SO, ...SI]>
      : never
    : never;
/** The derivatives of one result. */
export type JacobianRow<O, I> = I extends Tensor
  ? JacobianBlock<O, I>
  : { -readonly [K in keyof I]: JacobianBlock<O, I[K]> };

/** The derivative of each result with respect to each input: an array if either is an array, nested if both are. */
export type Jacobian<O, I> = O extends Tensor ? JacobianRow<O, I> : { -readonly [K in keyof O]: JacobianRow<O[K], I> };

/** The Jacobian of the gradient of a function whose result has one element. */
export type Hessian<I> = I extends Tensor ? JacobianBlock<I, I> : { -readonly [K in keyof I]: JacobianRow<I[K], I> };

/** The vector of a product. */
export type Vector = TensorOrTensors | null | undefined;

/**
 * The Jacobian of `func` at `inputs`: for a result of shape [a] and an input of shape [b, c] a tensor of shape [a, b, c].
 * One backward for each element of the results.
 */
export function jacobian<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => O,
  inputs: I,
  options: JacobianOptions = {},
): Jacobian<O, I> {
  return runJacobian(func, inputs, options) as Jacobian<O, I>;
}

/** The Hessian of `func`, whose result has one element, at `inputs`: for an array of inputs, an array of arrays. */
export function hessian<const I extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => Tensor,
  inputs: I,
  options: HessianOptions = {},
): Hessian<I> {
  return runHessian(func as unknown as Func, inputs, options) as Hessian<I>;
}

/** `[func(…inputs), v times the Jacobian]`: v has the shape of the results, the product that of the inputs. */
export function vjp<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => O,
  inputs: I,
  v?: Vector | VectorOptions,
  options?: ProductOptions,
): [output: Like<O>, product: Like<I>] {
  return runVjp(func, inputs, v, options) as [Like<O>, Like<I>];
}

/** `[func(…inputs), the Jacobian times v]`: v has the shape of the inputs, the product that of the results. */
export function jvp<const I extends TensorOrTensors, const O extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => O,
  inputs: I,
  v?: Vector | VectorOptions,
  options?: ProductOptions,
): [output: Like<O>, product: Like<O>] {
  return runJvp(func, inputs, v, options) as [Like<O>, Like<O>];
}

/** `[func(…inputs), v times the Hessian]` of a function whose result has one element. */
export function vhp<const I extends TensorOrTensors, O extends Tensor>(
  func: (...inputs: Arguments<I>) => O,
  inputs: I,
  v?: Vector | VectorOptions,
  options?: ProductOptions,
): [output: O, product: Like<I>] {
  return runVhp(func, inputs, v, options) as [O, Like<I>];
}

/** `[func(…inputs), the Hessian times v]`. If the Hessian is symmetric, `vhp` gives the same and is faster. */
export function hvp<const I extends TensorOrTensors, O extends Tensor>(
  func: (...inputs: Arguments<I>) => O,
  inputs: I,
  v?: Vector | VectorOptions,
  options?: ProductOptions,
): [output: O, product: Like<I>] {
  return runHvp(func, inputs, v, options) as [O, Like<I>];
}
