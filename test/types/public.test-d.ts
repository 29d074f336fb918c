/** Checked by `npm run typecheck`, never run: PyTorch's public functions, in all forms of calls. */
import { expectTypeOf } from 'expect-type';
import torch, { type Complex, type Parts, type Tensor } from '../../types';

const F = torch.nn.functional;
const a = torch.ones([2, 3]);
const image = torch.ones([1, 8, 8]);

// A result that depends on the arguments.
expectTypeOf(F.maxPool2d(image, 2)).toEqualTypeOf<Tensor<'float32', [1, 4, 4]>>();
{
  const [values, indices] = F.maxPool2d(image, 2, { returnIndices: true });
  expectTypeOf(values).toExtend<Tensor>();
  expectTypeOf(indices).toExtend<Tensor>();
}
expectTypeOf(torch.unique(a)).toExtend<Tensor>();
expectTypeOf(torch.unique(a, { returnCounts: true })[1]).toExtend<Tensor>();
expectTypeOf(torch.unique(a, { returnInverse: true, returnCounts: true }).counts).toExtend<Tensor>();
expectTypeOf(torch.nonzero(a, { asTuple: true })).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(F.multiHeadAttentionForward(a, a, a, 4, 2, a, a, null, null, false, 0, a, a)[1]).toExtend<Tensor | null>();

// Separate arguments, or a list, with options after them.
expectTypeOf(torch.einsum('ij,jk->ik', a, a)).toExtend<Tensor>();
expectTypeOf(torch.einsum('ij,jk->ik', [a, a])).toExtend<Tensor>();
expectTypeOf(torch.einsum(a, [0, 1], a, [1, '...'])).toExtend<Tensor>();
expectTypeOf(torch.meshgrid(a, a, { indexing: 'xy' })).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(torch.broadcastShapes([2, 1], 3)).toEqualTypeOf<number[]>();
expectTypeOf(torch.tensordot(a, a, { dims: [[0], [0]] })).toExtend<Tensor>();
expectTypeOf(torch.norm(a, 'fro', 1)).toEqualTypeOf<Tensor<'float32', [2]>>();
expectTypeOf(a.norm({ dim: 1, keepdim: true })).toEqualTypeOf<Tensor<'float32', [2, 1]>>();
expectTypeOf(torch.norm(a)).toEqualTypeOf<Tensor<'float32', []>>();
expectTypeOf(torch.norm(a as Tensor, 'nuc', [0, 1])).toEqualTypeOf<Tensor>();
expectTypeOf(torch.linalg.norm(a, 2, [0, 1])).toEqualTypeOf<Tensor<'float32', []>>();
expectTypeOf(torch.linalg.vectorNorm(a, 2, [-1], true)).toEqualTypeOf<Tensor<'float32', [2, 1]>>();
expectTypeOf(torch.linalg.matrixNorm(torch.zeros([4, 2, 3]))).toEqualTypeOf<Tensor<'float32', [4]>>();
expectTypeOf(a.quantile(0.5, 0)).toEqualTypeOf<Tensor<'float32', [3]>>();
expectTypeOf(torch.nn.functional.normalize(a)).toEqualTypeOf<Tensor<'float32', [2, 3]>>();

expectTypeOf(F.crossEntropy(a, a, { reduction: 'none', labelSmoothing: 0.1 })).toExtend<Tensor>();
F.tripletMarginWithDistanceLoss(a, a, a, { distanceFunction: (x, y) => x.sub(y) });
expectTypeOf(torch.complex(a, a)).toExtend<Tensor>();
expectTypeOf(torch.complex(1, 2).im).toEqualTypeOf<number>();
expectTypeOf(torch.tensor([{ re: 1, im: 2 }])).toEqualTypeOf<Tensor<'complex64', [1]>>();
expectTypeOf(torch.tensor((a as Tensor).toArray())).toEqualTypeOf<Tensor>();
expectTypeOf(torch.zeros([2], { dtype: torch.long })).toEqualTypeOf<Tensor<'int64', [2]>>();
torch.sparseCooTensor([[0, 1]], [1, 2], [3]);
torch.setPrintOptions({ profile: 'short', precision: 3 });
// @ts-expect-error: no such profile
torch.setPrintOptions({ profile: 'long' });
expectTypeOf(torch.split({ tensor: a, splitSizeOrSections: [1, 1] })).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(a.tolist()).toEqualTypeOf<number[][]>();
expectTypeOf(torch.zeros([4], { dtype: 'bool' }).tolist()).toEqualTypeOf<boolean[]>();
expectTypeOf(torch.split(a, [1, 1])).toEqualTypeOf<[Tensor<'float32', [1, 3]>, Tensor<'float32', [1, 3]>]>();
expectTypeOf(torch.split(a, [2] as number | number[])).toExtend<readonly Tensor[]>();
expectTypeOf(torch.finfo('float32').eps).toEqualTypeOf<number>();
expectTypeOf(a.size()).toEqualTypeOf<number[]>();
expectTypeOf(a.type()).toEqualTypeOf<string>();
expectTypeOf(a.names).toEqualTypeOf<(string | null)[]>();
expectTypeOf([...a]).toEqualTypeOf<Tensor<'float32', [3]>[]>();
expectTypeOf(a.mT).toExtend<Tensor>();
expectTypeOf<Complex>().toExtend<{ re: number }>();

// Lists are any iterables, but a tensor is not the list of its rows.
torch.cat(new Set([a]));
torch.cat([a, a].values());
torch.cat(
  (function* () {
    yield a;
  })(),
);
// @ts-expect-error: a Tensor
torch.cat(a);
// @ts-expect-error: no such option
F.crossEntropy(a, a, { typo: 1 });
// @ts-expect-error: an op behind the function, which PyTorch's namespace does not show
F.crossEntropyLoss(a, a);
// @ts-expect-error: a list of subscripts, not a number
torch.einsum(a, 3);
