/** Checked by `npm run typecheck`, never run: the types of compiled models. */
import { expectTypeOf } from 'expect-type';
import type { Tensor } from '../../types';
import torch from '../../types';

const model = torch.inductor.aotiLoadPackage('model.pt2', { modelName: 'model', numRunners: 2, deviceIndex: 0 });
declare const x: Tensor;

expectTypeOf(model).toEqualTypeOf<torch.inductor.AotiPackage>();
expectTypeOf(model.forward(x)).toEqualTypeOf<Tensor>();
expectTypeOf(model.forward<{ a: Tensor[] }>(x, [1, null, { k: x }], { scale: x }).a).toEqualTypeOf<Tensor[]>();
expectTypeOf(model.async.forward(x, { signal: new AbortController().signal })).toEqualTypeOf<Promise<Tensor>>();
expectTypeOf(model.async.forward<Tensor[]>(x)).toEqualTypeOf<Promise<Tensor[]>>();
expectTypeOf(model.metadata).toEqualTypeOf<Readonly<Record<string, string>>>();
expectTypeOf(model.modelName).toEqualTypeOf<string>();
expectTypeOf(model.disposed).toEqualTypeOf<boolean>();

// @ts-expect-error: not a value for a model
model.forward(() => 1);
// @ts-expect-error: a path
torch.inductor.aotiLoadPackage(new Uint8Array(1));
// @ts-expect-error: no such option
torch.inductor.aotiLoadPackage('model.pt2', { model_name: 'x' });
