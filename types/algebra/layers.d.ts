/** Shapes of layers: what they take, with the layer's name in the error, and what they give. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType } from '../base';
import type { DTypeOf, ShapeError, ShapeOf, TensorOf } from './core';
import type { Multiplied, Multiplies } from './matmul';

type Weight<In extends number, Out extends number> = Tensor<DType, [Out, In]>;

/**
 * `unknown` for an input of a Linear layer, or the text of the error, which names it. Joined to the input's type by `&`, so that
 * a class that extends the layer may take any tensor.
 */
export type LinearTakes<T extends Tensor, In extends number, Out extends number> =
  Multiplies<'linear', T, Weight<In, Out>> extends ShapeError<infer Message>
    ? `Linear(${In}, ${Out}): ${Message}`
    : unknown;

/** The result of a Linear layer: `[...B, Out]` for `[...B, In]`. */
export type LinearGives<T extends Tensor, In extends number, Out extends number> = TensorOf<
  DTypeOf<T>,
  Multiplied<'linear', T, Weight<In, Out>>
>;

/** The result of a layer that changes only values. */
export type Same<T extends Tensor> = TensorOf<DTypeOf<T>, ShapeOf<T>>;
