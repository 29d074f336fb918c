/** Checked by `npm run typecheck`, never run: the argument of torch.run's function gives pending tensors, whose values are promises. */
import { expectTypeOf } from 'expect-type';
import type { PendingTensor, Tensor } from '../../types';
import * as torch from '../../types';

const a = torch.zeros([2, 3]);
const b = torch.zeros([3, 4]);
const list = ['x', 'y'];

torch.run((t) => {
  const product = t.matmul(a, b);
  expectTypeOf(product).toEqualTypeOf<PendingTensor<'float32', [2, 4]>>();
  expectTypeOf(t.relu(product)).toEqualTypeOf<PendingTensor<'float32', [2, 4]>>();
  expectTypeOf(product.relu()).toEqualTypeOf<PendingTensor<'float32', [2, 4]>>();
  expectTypeOf(product.sum([1])).toExtend<PendingTensor>();
  expectTypeOf(product.shape).toEqualTypeOf<[2, 4]>();
  expectTypeOf(product.length).toEqualTypeOf<number>();
  expectTypeOf(product.item()).toEqualTypeOf<Promise<number>>();
  expectTypeOf(product.toArray()).toEqualTypeOf<Promise<number[][]>>();
  expectTypeOf(product.equal(a)).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(product.allclose(a)).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(t.equal(product, a)).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(t.max(product, 1).values).toExtend<PendingTensor<'float32', [2]>>();
  expectTypeOf(t.nn.functional.softmax(product, 1)).toEqualTypeOf<PendingTensor<'float32', [2, 4]>>();
  // @ts-expect-error: 4 is not 2
  t.matmul(product, a);
  // @ts-expect-error: a promise is always true
  if (product.equal(a)) return null;
  // @ts-expect-error: the same of a function
  if (t.equal(product, a)) return null;
  // @ts-expect-error: a promise is not a number
  if (product.item() > 0.5) return null;
  // @ts-expect-error: nor an index
  list[product.argmax().item()];
  // @ts-expect-error: a pending tensor is not a Tensor
  const there: Tensor = product;
  return there;
});

const result = torch.run((t) => {
  const sum = t.add(a, 1);
  return { sum, parts: [sum, t.matmul(a, b)], value: sum.item(), plain: 5, there: a };
});
expectTypeOf(result).resolves.toExtend<{
  sum: Tensor<'float32', [2, 3]>;
  parts: Tensor[];
  value: number;
  plain: number;
  there: Tensor<'float32', [2, 3]>;
}>();
expectTypeOf(torch.run((t) => t.relu(a))).toEqualTypeOf<Promise<Tensor<'float32', [2, 3]>>>();
expectTypeOf(torch.run(async (t) => ((await t.equal(a, a)) ? t.relu(a) : null))).resolves.toExtend<Tensor | null>();

// Several results stay a named tuple.
const topk = torch.run((t) => ({ largest: t.topk(a, 1), named: t.max(a, 1).values }));
topk.then(({ largest: [values, indices], named }) => {
  expectTypeOf(values).toEqualTypeOf<Tensor<'float32', [2, 1]>>();
  expectTypeOf(indices).toEqualTypeOf<Tensor<'int64', [2, 1]>>();
  expectTypeOf(named).toExtend<Tensor<'float32', [2]>>();
});
torch
  .run((t) => t.topk(a, 1))
  .then((found) => {
    expectTypeOf(found.indices).toEqualTypeOf<Tensor<'int64', [2, 1]>>();
    for (const one of found) expectTypeOf(one).toExtend<Tensor>();
  });

const forward = (x: Tensor<'float32', [2, 3]>) => x.matmul(b).relu();
expectTypeOf(torch.run(() => forward(a))).toEqualTypeOf<Promise<Tensor<'float32', [2, 4]>>>();
expectTypeOf(torch.run(() => 5)).toEqualTypeOf<Promise<number>>();
