/** A tensor that cannot require gradients is freed with the error: a program that catches it has nothing to dispose of. */
import { balanced, codeOf, torch } from '../support/torch';

const like = torch.tensor([1, 2], { dtype: 'int64' });
const requiresGrad = true;

const ways: Record<string, () => unknown> = {
  'a factory': () => torch.zeros([2], { dtype: 'int64', requiresGrad }),
  'a factory whose dtype follows from a tensor': () => torch.zerosLike(like, { requiresGrad }),
  'a method': () => like.newZeros([2], { requiresGrad }),
  'tensor, without a conversion': () => torch.tensor([1n], { requiresGrad }),
  'tensor, checked': () => torch.tensor([1], { dtype: 'int64', requiresGrad }),
  'tensor, converted': () => torch.tensor([1n], { dtype: 'bool', requiresGrad }),
  newTensor: () => like.newTensor([1], { requiresGrad }),
  'asarray of data': () => torch.asarray([1n], { requiresGrad }),
  frombuffer: () => torch.frombuffer(new ArrayBuffer(8), { dtype: 'int64', requiresGrad }),
  Parameter: () => new torch.nn.Parameter(like),
  UninitializedParameter: () => new torch.nn.UninitializedParameter({ dtype: 'int64' }),
  UninitializedBuffer: () => new torch.nn.UninitializedBuffer({ dtype: 'int64', requiresGrad }),
};

test.each(Object.keys(ways))('%s', (name) => {
  balanced(() => expect(codeOf(ways[name]!)).toBe('ERR_TORCH_RUNTIME'));
});

test("asarray of a program's own tensor leaves it alone", () => {
  expect(codeOf(() => torch.asarray(like, { requiresGrad }))).toBe('ERR_TORCH_RUNTIME');
  expect(like.disposed).toBe(false);
});

test('the option still makes leaves, also in torch.run', async () => {
  const [made, filled] = await torch.run(() => [torch.rand([2], { requiresGrad }), torch.zeros([2], { requiresGrad })]);
  expect([made, filled].map((t) => [t!.isLeaf, t!.requiresGrad])).toEqual([
    [true, true],
    [true, true],
  ]);
  torch.disposeAll([made, filled]);
});
