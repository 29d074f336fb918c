/** The sizes that initial values depend on. */
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';

/** The numbers of values that one result depends on, and of results that one value has a part in. */
export function fans(fn: string, tensor: Tensor): [fanIn: number, fanOut: number] {
  const { shape } = tensor;
  if (shape.length < 2) throw argumentError(`nn.init.${fn}`, 'tensor', 'a Tensor of 2 or more dimensions', tensor);
  const field = shape.slice(2).reduce((all, size) => all * size, 1);
  return [shape[1]! * field, shape[0]! * field];
}
