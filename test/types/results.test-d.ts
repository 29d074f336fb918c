/** Checked by `npm run typecheck`, never run: the types of results. */
import { expectTypeOf } from 'expect-type';
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType, Int, NamedTuple, Parts, Scalar } from '../../types/base';
import { Generator } from '../../types/generated/classes';
import * as exported from '../../types/generated/exports';
import type { Functions, LinalgFunctions } from '../../types/generated/functions';
import type { RawOps } from '../../types/generated/ops';

declare const torch: Functions;
declare const linalg: LinalgFunctions;
declare const ops: RawOps;
declare const a: Tensor;
declare const b: Tensor;

// For loops over rows. Without dimensions it is undefined, which no type says.
expectTypeOf(a.length).toEqualTypeOf<number>();

expectTypeOf(torch.add(a, b)).toEqualTypeOf<Tensor>();
expectTypeOf(a.add_(b)).toEqualTypeOf<Tensor>();
expectTypeOf(torch.relu_(a)).toEqualTypeOf<Tensor>();
expectTypeOf(torch.equal(a, b)).toEqualTypeOf<boolean>();
expectTypeOf(a.sparseDim()).toEqualTypeOf<Int>();
expectTypeOf(a.outputNr).toEqualTypeOf<number>();
expectTypeOf(a.isLeaf).toEqualTypeOf<boolean>();
expectTypeOf(torch.resultType(a, b)).toEqualTypeOf<DType>();
expectTypeOf(a._localScalarDense()).toEqualTypeOf<Scalar>();
expectTypeOf(torch.split(a, 2)).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(torch._foreachAdd_([a], 1)).toEqualTypeOf<void>();

// Tuples: by position and by name, also where an array has a member of that name.
const most = torch.max(a, 1);
expectTypeOf(most.values).toExtend<Tensor>();
expectTypeOf(most.values.add(1)).toEqualTypeOf<Tensor>();
expectTypeOf(most.indices).toEqualTypeOf<Tensor<'int64'>>();
expectTypeOf(most[0]).toEqualTypeOf<Tensor>();
const [values, indices] = a.max({ dim: 1 });
expectTypeOf(values).toEqualTypeOf<Tensor>();
expectTypeOf(indices).toEqualTypeOf<Tensor<'int64'>>();
const { Q, R } = linalg.qr(a);
expectTypeOf([Q, R]).toEqualTypeOf<Tensor[]>();
expectTypeOf(torch.max(a)).toEqualTypeOf<Tensor<DType, []>>();
expectTypeOf(torch.max(a, b)).toEqualTypeOf<Tensor>();
expectTypeOf(torch.nativeLayerNorm(a, [2], null, null, 1e-5)).toEqualTypeOf<[Tensor, Tensor, Tensor]>();
// @ts-expect-error: no such field
most.value;

type Mixed = NamedTuple<[scale: number, zero: Int], { scale: number; zero: Int }>;
const mixed: Mixed = torch._chooseQparamsPerTensor(a) as unknown as Mixed;
const [scale, zero] = mixed;
expectTypeOf(scale).toEqualTypeOf<number>();
expectTypeOf(zero).toEqualTypeOf<Int>();
expectTypeOf(mixed.scale).toEqualTypeOf<number>();
expectTypeOf(torch._chooseQparamsPerTensor(a)).toEqualTypeOf<[number, Int]>();

// The raw form: exact names, schema order, the rest by schema name.
expectTypeOf(ops.aten.add.Tensor(a, b, { alpha: 2 })).toEqualTypeOf<Tensor>();
expectTypeOf(ops.aten.add.Tensor.schema).toEqualTypeOf<string>();
expectTypeOf(ops.aten.relu.default(a)).toEqualTypeOf<Tensor>();
expectTypeOf(ops.aten.max.dim_max(a, 1, false, { max: a, max_values: b }).values).toExtend<Tensor>();
// @ts-expect-error: exact names only
ops.aten.logSoftmax;
// @ts-expect-error: by schema name
ops.aten.zeros.default([2], { pinMemory: true });

// Classes.
const generator = new Generator('cpu');
expectTypeOf(new Generator({ device: null })).toEqualTypeOf<Generator>();
expectTypeOf(generator.manualSeed(7)).toEqualTypeOf<Generator>();
expectTypeOf(generator.getState()).toEqualTypeOf<Tensor>();
expectTypeOf(generator.disposed).toEqualTypeOf<boolean>();
{
  using scoped = new Generator();
  expectTypeOf(scoped.device).toEqualTypeOf<string>();
}
// @ts-expect-error: no seed
generator.manualSeed();
// @ts-expect-error: no device
new Generator(1);

// The module's exports.
expectTypeOf(exported.add).toEqualTypeOf<Functions['add']>();
expectTypeOf(exported.var).toEqualTypeOf<Functions['var']>();
// @ts-expect-error: lives in torch.linalg
exported.svdvals;
