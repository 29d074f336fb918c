/** -0 is JavaScript's form of PyTorch's -0.0, and also the result of `-x` for 0, so it must not change a dtype. */
import { balanced, torch, untyped } from '../support/torch';

const inScope = (fn: () => void) => () => balanced(() => torch.scope(fn));
const float = () => torch.ones([1]);
const int = () => torch.ones([1], { dtype: 'int64' });

/** Each with the dtype and the value that PyTorch 1.13 gives for -0.0; where it gives a float only for the scalar, for 0. */
const calls: [string, () => any, string, number][] = [
  ['full', () => torch.full([1], -0), 'float32', -0],
  ['full by name', () => untyped.full({ size: [1], fillValue: -0 }), 'float32', -0],
  ['full of a float dtype', () => torch.full([1], -0, { dtype: 'float64' }), 'float64', -0],
  ['full of an integer dtype', () => torch.full([1], -0, { dtype: 'int64' }), 'int64', 0],
  ['tensor', () => torch.tensor([-0]), 'float32', -0],
  ['tensor of an integer dtype', () => torch.tensor([-0], { dtype: 'int32' }), 'int32', 0],
  ['fullLike', () => torch.fullLike(float(), -0), 'float32', -0],
  ['fill_', () => float().fill_(-0), 'float32', -0],
  ['fill_ of integers', () => int().fill_(-0), 'int64', 0],
  ['set', () => float().set([0], -0), 'float32', -0],
  ['maskedFill', () => float().maskedFill(torch.tensor([true]), -0), 'float32', -0],
  ['where', () => untyped.where(torch.tensor([true]), -0, float()), 'float32', -0],
  ['where of scalars', () => untyped.where(torch.tensor([true]), -0, 1.5), 'float32', -0],
  ['where of integers', () => untyped.where(torch.tensor([true]), -0, int()), 'int64', 0],
  ['mul', () => float().mul(-0), 'float32', -0],
  ['mul by name', () => untyped.ones([1]).mul({ other: -0 }), 'float32', -0],
  ['mul, the number first', () => untyped.mul(-0, float()), 'float32', -0],
  ['mul of integers', () => int().mul(-0), 'int64', 0],
  ['add of integers', () => int().add(-0), 'int64', 1],
  ['mul of booleans', () => untyped.ones([1], { dtype: 'bool' }).mul(-0), 'int64', 0],
  ['clamp', () => float().clamp(undefined, -0), 'float32', -0],
  ['arange', () => torch.arange(-0, 1), 'int64', 0],
  ['arange of a float dtype', () => untyped.arange(-0, 1, { dtype: 'float32' }), 'float32', 0],
  ['foreach', () => untyped.ops.aten._foreach_mul.Scalar([float()], -0)[0], 'float32', -0],
  ['fill_ of complex', () => untyped.viewAsReal(untyped.ones([1], { dtype: 'complex64' }).fill_(-0)), 'float32', -0],
];

test.each(calls)('%s', (_, call, dtype, value) => {
  inScope(() => {
    const result = call();
    expect(result.dtype).toBe(dtype);
    expect(Object.is(result.view([-1]).at(0).item(), value)).toBe(true);
  })();
});

test(
  'it prints as PyTorch prints it',
  inScope(() => {
    expect(torch.full([2], -0).toString()).toBe('tensor([-0., -0.])');
  }),
);
