/** Shapes of layers. */

import { expectTypeOf } from 'expect-type';
import * as torch from 'libtorch-node';
import type { Tensor } from '../../types';

const x = torch.zeros([32, 784]);
const fc = new torch.nn.Linear(784, 10);
expectTypeOf(fc.forward(x)).toEqualTypeOf<Tensor<'float32', [32, 10]>>();
expectTypeOf(fc.weight.shape).toEqualTypeOf<[10, 784]>();
expectTypeOf(fc.forward(torch.zeros([2, 3, 784]))).toEqualTypeOf<Tensor<'float32', [2, 3, 10]>>();
expectTypeOf(new torch.nn.ReLU().forward(x)).toEqualTypeOf<typeof x>();
expectTypeOf(new torch.nn.Dropout(0.1).forward(x)).toEqualTypeOf<typeof x>();
expectTypeOf(new torch.nn.LayerNorm(784, { eps: 1e-6 }).forward(x)).toEqualTypeOf<typeof x>();
expectTypeOf(new torch.nn.BatchNorm1d(784).forward(x)).toEqualTypeOf<typeof x>();
expectTypeOf(new torch.nn.Identity().forward(x)).toEqualTypeOf<typeof x>();
expectTypeOf(new torch.nn.Linear({ inFeatures: 784, outFeatures: 3 }).forward(x)).toEqualTypeOf<
  Tensor<'float32', [32, 3]>
>();
// Any tensor is accepted, and any layer is a Linear.
declare const any: Tensor;
expectTypeOf(fc.forward(any)).toEqualTypeOf<Tensor>();
const layer: torch.nn.Linear = fc;
layer.forward(any);
// @ts-expect-error: Linear(784, 10): shapes [32,700] and [10,784] do not multiply: 700 is not 784
fc.forward(torch.zeros([32, 700]));
// @ts-expect-error: no such option
new torch.nn.Linear(784, 10, { bais: false });
// @ts-expect-error: an argument is missing
new torch.nn.Conv2d(1, 2);

class Net extends torch.nn.Module {
  fc = new torch.nn.Linear(784, 10);
  override forward<N extends number>(input: Tensor<'float32', [N, 784]>) {
    return this.fc.forward(input);
  }
}
expectTypeOf(new Net().forward(x)).toEqualTypeOf<Tensor<'float32', [32, 10]>>();
