/** Checked by `npm run typecheck`, never run: torch.async has the types of torch, later. */
import { expectTypeOf } from 'expect-type';
import type { Tensor } from '../../types';
import * as torch from '../../types';

const a = torch.zeros([2, 3]);
const b = torch.zeros([3, 4]);
const { signal } = new AbortController();

expectTypeOf(torch.async.matmul(a, b)).toEqualTypeOf<Promise<Tensor<'float32', [2, 4]>>>();
expectTypeOf(torch.async.matmul(a, torch.async.relu(b))).toEqualTypeOf<Promise<Tensor<'float32', [2, 4]>>>();
expectTypeOf(torch.async.matmul(torch.async.relu(a), b, { signal })).toEqualTypeOf<
  Promise<Tensor<'float32', [2, 4]>>
>();
expectTypeOf(torch.async.sum(a, [1], { keepdim: true, signal })).toEqualTypeOf<Promise<Tensor<'float32', [2, 1]>>>();
expectTypeOf(torch.async.argmax(a, 1)).toEqualTypeOf<Promise<Tensor<'int64', [2]>>>();
expectTypeOf(torch.async.cat([a, a], 0)).toEqualTypeOf<Promise<Tensor<'float32', [4, 3]>>>();
expectTypeOf(torch.async.cat([torch.async.relu(a), torch.async.relu(a)])).toExtend<Promise<Tensor>>();
expectTypeOf(torch.async.cat([a, torch.async.relu(a)])).toExtend<Promise<Tensor>>();
expectTypeOf(torch.async.sub(1, torch.async.relu(a))).toEqualTypeOf<Promise<Tensor<'float32', [2, 3]>>>();
expectTypeOf(torch.async.add(a, 1)).toEqualTypeOf<Promise<Tensor<'float32', [2, 3]>>>();
expectTypeOf(torch.async.add(a as Tensor, b as Tensor)).toEqualTypeOf<Promise<Tensor>>();
expectTypeOf(torch.async.zeros([2, 3], { dtype: 'int64' })).toEqualTypeOf<Promise<Tensor<'int64', [2, 3]>>>();
expectTypeOf(torch.async.nn.functional.softmax(a, 1)).toEqualTypeOf<Promise<Tensor<'float32', [2, 3]>>>();
expectTypeOf(torch.async.nn.functional.linear(a, torch.zeros([5, 3]), torch.zeros([5]))).toEqualTypeOf<
  Promise<Tensor<'float32', [2, 5]>>
>();
expectTypeOf(torch.async.linalg.norm(a)).toEqualTypeOf<Promise<Tensor<'float32', []>>>();
torch.async.max(a, 1).then(({ values, indices }) => {
  expectTypeOf(values).toExtend<Tensor<'float32', [2]>>();
  expectTypeOf(indices).toExtend<Tensor<'int64', [2]>>();
});
torch.async.split(a, 2, 1).then((parts) => expectTypeOf(parts).toExtend<readonly Tensor[]>());

// @ts-expect-error: 3 is not 2
torch.async.matmul(a, a);
// @ts-expect-error: 3 is not 2, also after the await
torch.async.matmul(a, torch.async.relu(a));
// @ts-expect-error: dimension 2 does not exist
torch.async.sum(a, [2]);
// @ts-expect-error: no such option
torch.async.sum(a, [1], { keepDim: true });
// @ts-expect-error: an out tensor cannot be pending
torch.async.add(a, a, { out: torch.async.relu(a) });
