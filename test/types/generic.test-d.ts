/** Checked by `npm run typecheck`, never run: types in generic and in loosely typed code. */
import { expectTypeOf } from 'expect-type';
import type { DType, Parts, Shape, Tensor } from '../../types';
import * as torch from '../../types';

declare const dynamic: Tensor;
declare const float: Tensor<'float32'>;
declare const size: number;
declare const sizes: number[];
const a = torch.zeros([2, 3]);

// Any tensor is a Tensor, and code that takes and returns Tensor needs nothing else.
const kept: Tensor = a;
const half: Tensor<'float32'> = a;
const loose: Tensor<DType, [number, number]> = a;
kept.add(half).matmul(loose);
expectTypeOf(dynamic.flatten()).toEqualTypeOf<Tensor<DType, [number]>>();
expectTypeOf(float.ravel().toArray()).toEqualTypeOf<number[]>();
expectTypeOf(dynamic.flatten(1)).toEqualTypeOf<Tensor>();
expectTypeOf(a.maskedSelect(a.gt(0)).tolist()).toEqualTypeOf<number[]>();
// @ts-expect-error: not the other way round
export const exact: Tensor<'float32', [2, 3]> = dynamic;
// @ts-expect-error: another shape
export const other: Tensor<'float32', [3, 2]> = a;
// @ts-expect-error: another dtype
export const another: Tensor<'int64', [2, 3]> = a;

function careless(x: Tensor, y: Tensor | number): Tensor {
  const scaled = x.mul(y).add(1).relu();
  const parts = scaled.split(2).map((part) => part.sum(0));
  let sum = torch.zerosLike(x);
  for (const part of parts) sum = sum.add(part);
  return torch
    .cat([sum, torch.stack(parts)])
    .view(-1)
    .at(torch.slice(0, 3))
    .softmax(0);
}
expectTypeOf(careless(a, 2)).toEqualTypeOf<Tensor>();
expectTypeOf(dynamic.add(dynamic)).toEqualTypeOf<Tensor>();
expectTypeOf(dynamic.matmul(a)).toEqualTypeOf<Tensor>();
expectTypeOf(dynamic.sum(1)).toEqualTypeOf<Tensor>();
expectTypeOf(dynamic.at(0)).toEqualTypeOf<Tensor>();
expectTypeOf(dynamic.view([2, -1])).toEqualTypeOf<Tensor<DType, [2, number]>>();
expectTypeOf(float.add(a)).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(dynamic.shape).toEqualTypeOf<Shape>();
expectTypeOf(dynamic.split(2)).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(torch.where(dynamic)).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(dynamic.tensorSplit(2)).toEqualTypeOf<Parts<Tensor>>();

// `number` sizes are unknown, but not errors.
const n = torch.zeros([size, 3]);
expectTypeOf(n).toEqualTypeOf<Tensor<'float32', [number, 3]>>();
expectTypeOf(torch.zeros(sizes)).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(n.add(a)).toEqualTypeOf<Tensor<'float32', [2, 3]>>();
expectTypeOf(n.matmul(torch.zeros([3, size]))).toEqualTypeOf<Tensor<'float32', [number, number]>>();
expectTypeOf(a.matmul(torch.zeros([size, 5]))).toEqualTypeOf<Tensor<'float32', [2, 5]>>();
expectTypeOf(n.view([-1])).toEqualTypeOf<Tensor<'float32', [number]>>();
expectTypeOf(n.view([size, size])).toEqualTypeOf<Tensor<'float32', [number, number]>>();
expectTypeOf(n.view(...sizes)).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(n.view(-1, ...sizes)).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(n.view(...([2, -1] as const))).toEqualTypeOf<Tensor<'float32', [2, number]>>();
expectTypeOf(n.permute(...sizes)).toEqualTypeOf<Tensor<'float32', [number, number]>>();
expectTypeOf(torch.zeros(...sizes, { dtype: 'int64' })).toEqualTypeOf<Tensor<'int64'>>();
expectTypeOf(n.sum(size)).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(n.transpose(0, size)).toEqualTypeOf<Tensor<'float32', [number, number]>>();
expectTypeOf(torch.cat([n, a])).toEqualTypeOf<Tensor<'float32', [number, 3]>>();
expectTypeOf(n.split(2)).toEqualTypeOf<Parts<Tensor<'float32', [number, 3]>>>();
expectTypeOf(n.at(size)).toEqualTypeOf<Tensor<'float32', [3]>>();
expectTypeOf(torch.zeros([2n, 3])).toEqualTypeOf<Tensor<'float32', [number, 3]>>();
expectTypeOf(torch.zeros([2], { dtype: 'int64' as DType })).toEqualTypeOf<Tensor<DType, [2]>>();

// A union of shapes: each is computed.
declare const either: Tensor<'float32', [2, 3]> | Tensor<'float32', [4, 3]>;
expectTypeOf(either.relu()).toExtend<Tensor<'float32', [number, 3]>>();
expectTypeOf(either.add(torch.zeros([3]))).toExtend<Tensor<'float32', [number, 3]>>();
expectTypeOf(either.sum(1)).toExtend<Tensor<'float32', [number]>>();
declare const deep: Tensor<'float32', [2, 3]> | Tensor<'float32', [4, 2, 3]>;
expectTypeOf(deep.sum(-1)).toEqualTypeOf<Tensor<'float32', [2] | [4, 2]>>();
expectTypeOf(deep.mean([0, -1])).toEqualTypeOf<Tensor<'float32', [] | [2]>>();
expectTypeOf(deep.argmax(-1)).toEqualTypeOf<Tensor<'int64', [2] | [4, 2]>>();
expectTypeOf(deep.unsqueeze(-1)).toEqualTypeOf<Tensor<'float32', [2, 3, 1] | [4, 2, 3, 1]>>();
expectTypeOf(deep.unflatten(-1, [3, 1])).toEqualTypeOf<Tensor<'float32', [2, 3, 1] | [4, 2, 3, 1]>>();
expectTypeOf(deep.unbind(-1)[0]).toEqualTypeOf<Tensor<'float32', [2]> | Tensor<'float32', [4, 2]>>();
expectTypeOf(deep.chunk(3, -1)[2]).toEqualTypeOf<Tensor<'float32', [2, 1]> | Tensor<'float32', [4, 2, 1]>>();
expectTypeOf(deep.split([1, 2], -1)[1]).toEqualTypeOf<Tensor<'float32', [2, 2]> | Tensor<'float32', [4, 2, 2]>>();
expectTypeOf(torch.cat([deep], -1)).toEqualTypeOf<Tensor<'float32', [2, 3] | [4, 2, 3]>>();

// Sizes by name.
function classify<B extends number>(x: Tensor<'float32', [B, 784]>, w: Tensor<'float32', [784, 10]>) {
  const scores = torch
    .mm(x, w)
    .add(torch.zeros([10]))
    .softmax(1);
  const same: Tensor<'float32', [B, 10]> = scores;
  const summed: Tensor<'float32', [B]> = scores.mul(scores).sum(1);
  return torch.stack([same, scores.relu()]).at(0).argmax(1).add(summed.long());
}
expectTypeOf(classify(torch.zeros([32, 784]), torch.zeros([784, 10]))).toEqualTypeOf<Tensor<'int64', [32]>>();
expectTypeOf(classify(torch.zeros([size, 784]), torch.zeros([784, 10]))).toEqualTypeOf<Tensor<'int64', [number]>>();
// A name in two arguments: the first one decides where the second says NoInfer.
function paired<B extends number>(x: Tensor<'float32', [B, 3]>, y: Tensor<'float32', [NoInfer<B>]>) {
  return x.sum(1).add(y);
}
expectTypeOf(paired(torch.zeros([2, 3]), torch.zeros([2]))).toEqualTypeOf<Tensor<'float32', [2]>>();
expectTypeOf(paired(torch.zeros([size, 3]), torch.zeros([2]))).toExtend<Tensor<'float32', [number]>>();
// @ts-expect-error: 4 is not 2
paired(torch.zeros([2, 3]), torch.zeros([4]));
// @ts-expect-error: 783 is not 784
classify(torch.zeros([32, 783]), torch.zeros([784, 10]));

function images<B extends number>(x: Tensor<'float32', [B, 1, 28, 28]>) {
  const rows: Tensor<'float32', [B, 784]> = x.view([-1, 784]);
  const flat: Tensor<'float32', [B, 784]> = x.flatten(1);
  const seen: Tensor<'float32', [B, 8, 13, 13]> = torch.maxPool2d(torch.conv2d(x, torch.zeros([8, 1, 3, 3])), 2);
  const turned: Tensor<'float32', [28, B, 1, 28]> = x.permute(3, 0, 1, 2);
  const grown: Tensor<'float32', [B, 5, 28, 28]> = x.expand([-1, 5, -1, -1]);
  const joined: Tensor<'float32', [B, 1568]> = torch.cat([rows, flat], 1);
  return { seen, turned, grown, joined };
}
images(torch.zeros([16, 1, 28, 28]));

function attend<B extends number, N extends number, D extends number>(
  q: Tensor<'float32', [B, N, D]>,
  k: Tensor<'float32', [B, N, D]>,
  v: Tensor<'float32', [B, N, D]>,
): Tensor<'float32', [B, N, D]> {
  return torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(-1), v);
}
expectTypeOf(attend(torch.zeros([2, 5, 8]), torch.zeros([2, 5, 8]), torch.zeros([2, 5, 8]))).toEqualTypeOf<
  Tensor<'float32', [2, 5, 8]>
>();

function refused<B extends number, C extends number>(x: Tensor<'float32', [B, 3]>, y: Tensor<'float32', [C, 3]>) {
  // @ts-expect-error: a size of any number is not 2
  x.add(torch.zeros([2, 3]));
  // @ts-expect-error: 3 is not C
  torch.mm(x, y);
  // @ts-expect-error: B and C need not be the same
  x.add(y);
}
refused(a, a);

// Any dtype, any shape.
function twice<D extends DType>(x: Tensor<D, [2]>): Tensor<D, [2]> {
  return x.add(x);
}
expectTypeOf(twice(torch.zeros([2], { dtype: 'int64' }))).toEqualTypeOf<Tensor<'int64', [2]>>();
function activate<S extends Shape>(x: Tensor<'float32', S>): Tensor<'float32', S> {
  return x.relu().sigmoid().clone();
}
expectTypeOf(activate(a)).toEqualTypeOf<typeof a>();

// In place, whatever the shape; and channels with a name.
export function inPlace<S extends Shape>(x: Tensor<'float32', S>, y: Tensor<'float32', S>): Tensor<'float32', S> {
  return x.add_(y).mul_(dynamic);
}
export function convolve<B extends number, C extends number>(
  x: Tensor<'float32', [B, C, 8, 8]>,
  weight: Tensor<'float32', [4, C, 3, 3]>,
): Tensor<'float32', [B, 4, 6, 6]> {
  return torch.conv2d(x, weight);
}

declare const value: unknown;
if (torch.isTensor(value)) value.sum();
export const codeOf = (error: unknown): string => (error as torch.TorchError).code;
// dtypes that are type parameters are not known, so not refused.
export const anyDType = <D extends torch.DType>(x: torch.Tensor<D, [2, 3]>) => [
  new torch.nn.Linear(3, 4).forward(x),
  x.mean().add_(1.5).div_(2),
  x.softmax(1).sqrt_(),
];
export const eitherOperand = (x: torch.Tensor<'float32', [2]>, y: torch.Tensor | number) => x.mul_(y).div_(y);
