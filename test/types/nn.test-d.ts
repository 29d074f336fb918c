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
expectTypeOf(new torch.nn.Identity().forward([x, null])).toBeAny();
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

// Sequences: recurrent layers, attention, Transformers.
const steps = torch.zeros([5, 4, 10]);
const [output, hidden] = new torch.nn.GRU(10, 20, { numLayers: 2, bidirectional: true }).forward(steps);
expectTypeOf(output).toEqualTypeOf<Tensor<'float32', [5, 4, 40]>>();
expectTypeOf(hidden).toEqualTypeOf<Tensor<'float32', [4, 4, 20]>>();
const [all, [last, cell]] = new torch.nn.LSTM(10, 20, { batchFirst: true }).forward(steps);
expectTypeOf(all).toEqualTypeOf<Tensor<'float32', [5, 4, 20]>>();
expectTypeOf(last).toEqualTypeOf<Tensor<'float32', [1, 5, 20]>>();
expectTypeOf(cell).toEqualTypeOf<Tensor<'float32', [1, 5, 20]>>();
expectTypeOf(new torch.nn.RNN(10, 3).forward(torch.zeros([7, 10]))[1]).toEqualTypeOf<Tensor<'float32', [1, 3]>>();
expectTypeOf(new torch.nn.RNN(10, 3).forward(any)[0]).toEqualTypeOf<Tensor>();
const rnn: torch.nn.RNN = new torch.nn.RNN(10, 3);
rnn.forward(any);
// @ts-expect-error: GRU(9, 20): input [5,4,10] does not fit: 10 is not 9
new torch.nn.GRU(9, 20).forward(steps);

const attention = new torch.nn.MultiheadAttention(10, 2, { kdim: 6, vdim: 7 });
const keys = torch.zeros([3, 4, 6]);
const values = torch.zeros([3, 4, 7]);
expectTypeOf(attention.forward(steps, keys, values, { needWeights: false })[0]).toEqualTypeOf<
  Tensor<'float32', [5, 4, 10]>
>();
// @ts-expect-error: MultiheadAttention(10, 2), key: input [5,4,10] does not fit: 10 is not 6
attention.forward(steps, steps, values);

const encoderLayer = new torch.nn.TransformerEncoderLayer(10, 2, { dimFeedforward: 16 });
const encoder = new torch.nn.TransformerEncoder(encoderLayer, 2);
expectTypeOf(encoder.forward(steps)).toEqualTypeOf<Tensor<'float32', [5, 4, 10]>>();
// @ts-expect-error: TransformerEncoder(10): input [3,4,6] does not fit: 6 is not 10
encoder.forward(keys);
const decoder = new torch.nn.TransformerDecoder(new torch.nn.TransformerDecoderLayer(10, 2), 1);
expectTypeOf(decoder.forward(steps, torch.zeros([9, 4, 10]))).toEqualTypeOf<Tensor<'float32', [5, 4, 10]>>();
// @ts-expect-error: TransformerDecoder(10), memory: input [3,4,6] does not fit: 6 is not 10
decoder.forward(steps, keys);
const whole = new torch.nn.Transformer(10, 2, { numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 8 });
expectTypeOf(whole.forward(torch.zeros([9, 4, 10]), steps)).toEqualTypeOf<Tensor<'float32', [5, 4, 10]>>();

// Hooks know the module, its inputs and its output.
const linear: torch.nn.Linear = new torch.nn.Linear(10, 3);
linear.registerForwardHook((module, [input], output) => {
  expectTypeOf([module.weight, input, output]).toExtend<Tensor[]>();
});
linear.registerForwardPreHook((_, [input]) => [input.mul(2)]);
encoder.registerFullBackwardHook((module, _, [gradient]) => [gradient!.div(module.numLayers)]);
linear.registerFullBackwardHook((module) => expectTypeOf(module).toEqualTypeOf<torch.nn.Linear>());
const anyModule: torch.nn.Module = encoder;
anyModule.registerForwardPreHook((_module: unknown, inputs: unknown[]) => inputs);
anyModule.registerForwardHook((module: any, inputs, output) => module.use(inputs[0], output));

// The first masks by position, the others by name.
const square = torch.zeros([5, 5]);
const padding = torch.zeros([4, 5], { dtype: 'bool' });
expectTypeOf(encoder.forward(steps, square, { srcKeyPaddingMask: padding })).toEqualTypeOf<
  Tensor<'float32', [5, 4, 10]>
>();
encoderLayer.forward(steps, square, { srcKeyPaddingMask: padding });
encoderLayer.forward(steps, undefined, { srcKeyPaddingMask: padding });
decoder.forward(steps, steps, square, { memoryKeyPaddingMask: padding });
whole.forward(steps, steps, null, square, { srcKeyPaddingMask: padding, tgtIsCausal: true });
attention.forward(steps, keys, values, null, { attnMask: torch.zeros([5, 3]) });
const bag: torch.nn.EmbeddingBag = new torch.nn.EmbeddingBag(9, 3);
bag.forward(any, any, { perSampleWeights: any });
// @ts-expect-error: no such mask
encoder.forward(steps, square, { keyPaddingMask: padding });
// @ts-expect-error: a flag is not a mask
whole.forward(steps, steps, true);
const anyEncoder: torch.nn.TransformerEncoder = encoder;
anyEncoder.forward(any, null, { srcKeyPaddingMask: any });

class Words extends torch.nn.Module {
  rnn = new torch.nn.LSTM(10, 20, { batchFirst: true });
  encoder = new torch.nn.TransformerEncoderLayer(20, 2);
  override forward<B extends number, N extends number>(input: Tensor<'float32', [B, N, 10]>) {
    return this.encoder.forward(this.rnn.forward(input)[0]);
  }
}
expectTypeOf(new Words().forward(torch.zeros([2, 3, 10]))).toEqualTypeOf<Tensor<'float32', [2, 3, 20]>>();

// Padding, upsampling, GLU, instance norms.
const image = torch.zeros([2, 4, 5, 6]);
expectTypeOf(new torch.nn.ZeroPad2d(1).forward(image)).toEqualTypeOf<Tensor<'float32', [2, 4, 7, 8]>>();
expectTypeOf(new torch.nn.ReflectionPad2d([1, 2, 3, 0]).forward(image)).toEqualTypeOf<
  Tensor<'float32', [2, 4, 8, 9]>
>();
expectTypeOf(new torch.nn.ConstantPad1d([1, 0], 3).forward(steps)).toEqualTypeOf<Tensor<'float32', [5, 4, 11]>>();
expectTypeOf(new torch.nn.Upsample({ scaleFactor: 2 }).forward(image)).toEqualTypeOf<
  Tensor<'float32', [2, 4, 10, 12]>
>();
expectTypeOf(new torch.nn.Upsample([9, 8]).forward(image)).toEqualTypeOf<Tensor<'float32', [2, 4, 9, 8]>>();
expectTypeOf(new torch.nn.UpsamplingNearest2d(3).forward(image)).toEqualTypeOf<Tensor<'float32', [2, 4, 3, 3]>>();
expectTypeOf(new torch.nn.GLU().forward(image)).toEqualTypeOf<Tensor<'float32', [2, 4, 5, 3]>>();
expectTypeOf(new torch.nn.GLU(1).forward(image)).toEqualTypeOf<Tensor<'float32', [2, 2, 5, 6]>>();
expectTypeOf(new torch.nn.InstanceNorm2d(4, { affine: true }).forward(image)).toEqualTypeOf<
  Tensor<'float32', [2, 4, 5, 6]>
>();
const pads: torch.nn.ZeroPad2d = new torch.nn.ZeroPad2d(1);
pads.forward(any);

// Tied weights, in both directions.
const tokens = new torch.nn.Embedding(11, 8);
const head = new torch.nn.Linear(8, 11, { bias: false });
expectTypeOf(tokens.weight).toEqualTypeOf<torch.nn.Parameter<torch.DType, [11, 8]>>();
expectTypeOf(new torch.nn.Embedding(11, 8, 0).weight.shape).toEqualTypeOf<[11, 8]>();
head.weight = tokens.weight;
tokens.weight = head.weight;
// @ts-expect-error: [8, 11] is not [11, 8]
new torch.nn.Linear(11, 8).weight = tokens.weight;
class Tied extends torch.nn.Module {
  tokens: torch.nn.Embedding;
  head: torch.nn.Linear;
  constructor(vocabulary: number, size: number) {
    super();
    this.tokens = new torch.nn.Embedding(vocabulary, size);
    this.head = new torch.nn.Linear(size, vocabulary, { bias: false });
    this.head.weight = this.tokens.weight;
    this.tokens.weight = this.head.weight;
    this.head.weight = torch.nn.Embedding.fromPretrained(this.head.weight).weight;
  }
}
new Tied(11, 8).tokens = tokens;

// The weights of recurrent layers, and a static function.
const lstm = new torch.nn.LSTM(3, 4, { numLayers: 2, bidirectional: true });
expectTypeOf(lstm.weightIhL0).toEqualTypeOf<torch.nn.Parameter>();
expectTypeOf(lstm.weightHhL1Reverse).toEqualTypeOf<torch.nn.Parameter>();
expectTypeOf(rnn.biasIhL0).toEqualTypeOf<torch.nn.Parameter>();
expectTypeOf(new torch.nn.GRU(3, 4).biasHhL1).toEqualTypeOf<torch.nn.Parameter>();
expectTypeOf(new torch.nn.LSTM(3, 4, 1, true, false, 0, false, 2).weightHrL0).toEqualTypeOf<torch.nn.Parameter>();
expectTypeOf(lstm.hiddenSize).toEqualTypeOf<4>();
// @ts-expect-error: no such weight
lstm.weightIhL;
// @ts-expect-error: no such weight
lstm.weightIhL0Revers;
expectTypeOf(torch.nn.Transformer.generateSquareSubsequentMask(4)).toEqualTypeOf<Tensor<'float32', [4, 4]>>();

// Lists of modules of one class.
class Block extends torch.nn.Module {
  size = 3;
  override forward(input: Tensor, _mask?: Tensor): Tensor {
    return input;
  }
}
const blocks = new torch.nn.ModuleList([new Block()]);
expectTypeOf(blocks).toEqualTypeOf<torch.nn.ModuleList<Block>>();
expectTypeOf(blocks.at(0)).toEqualTypeOf<Block | undefined>();
for (const block of blocks.append(new Block())) expectTypeOf(block.forward(any)).toEqualTypeOf<Tensor>();
expectTypeOf([...blocks]).toEqualTypeOf<Block[]>();
// @ts-expect-error: not a Block
blocks.append(new torch.nn.ReLU());
const byName = new torch.nn.ModuleDict({ a: new Block() });
expectTypeOf(byName.get('a')).toEqualTypeOf<Block>();
expectTypeOf(byName.a).toEqualTypeOf<Block>();
expectTypeOf(byName.get('b')).toEqualTypeOf<Block | undefined>();
expectTypeOf(byName.get(String())).toEqualTypeOf<Block | undefined>();
// @ts-expect-error: not a Block
byName.a = new torch.nn.ReLU();
const parts = new torch.nn.ModuleDict({ tokens: new torch.nn.Embedding(65, 32), get: new Block() });
expectTypeOf(parts.tokens.weight.shape).toEqualTypeOf<[65, 32]>();
expectTypeOf(parts.get('get')).toEqualTypeOf<Block>();
expectTypeOf(parts.get('other')).toEqualTypeOf<torch.nn.Module | undefined>();
expectTypeOf(parts).toExtend<torch.nn.ModuleDict>();
expectTypeOf(new torch.nn.ModuleDict({} as Record<string, Block>)).toEqualTypeOf<torch.nn.ModuleDict<Block>>();
expectTypeOf(new torch.nn.Sequential({ first: fc }).first).toEqualTypeOf<typeof fc>();
const two = new torch.nn.Sequential(fc, new Block());
expectTypeOf(two.at(0)).toEqualTypeOf<typeof fc>();
expectTypeOf(two.at(-1)).toEqualTypeOf<Block>();
expectTypeOf(two.at(2)).toEqualTypeOf<undefined>();
expectTypeOf(two.at(Number())).toEqualTypeOf<torch.nn.Module | undefined>();
expectTypeOf(two).toExtend<torch.nn.Sequential>();
for (const [, block] of byName.entries()) expectTypeOf(block.size).toEqualTypeOf<number>();
expectTypeOf([...new torch.nn.ModuleDict([['a', new Block()]]).values()]).toEqualTypeOf<Block[]>();
expectTypeOf(new torch.nn.ModuleDict(new Map([['a', new Block()]]))).toEqualTypeOf<torch.nn.ModuleDict<Block>>();
// Words and devices are checked, strings that the compiler does not know are accepted.
two.to('cuda:1').to('cpu', 'float64').to({ device: 'meta' }).to(String(1)).to(x).to('bfloat16');
// @ts-expect-error: no device and no dtype
two.to('gpu');
// @ts-expect-error: no dtype
two.to('float31');
torch.nn.init.kaimingNormal_(x, { nonlinearity: 'relu' });
// @ts-expect-error: no nonlinearity
torch.nn.init.kaimingNormal_(x, { nonlinearity: 'relo' });
// Of several classes, of layers whose type tells their shapes, and empty ones: any modules.
const mixed = new torch.nn.ModuleList([new Block(), new torch.nn.ReLU(), new torch.nn.Linear(3, 4)]);
expectTypeOf(mixed).toEqualTypeOf<torch.nn.ModuleList>();
for (const module of mixed) module.forward(x, 'anything');
new torch.nn.ModuleList([new torch.nn.Linear(2, 3)]).append(new torch.nn.Linear(3, 4)).append(new torch.nn.ReLU());
new torch.nn.ModuleList([new torch.nn.GRU(2, 3)]).append(new torch.nn.GRU(3, 4));
new torch.nn.ModuleList([new torch.nn.MultiheadAttention(4, 2)]).append(new Block());
new torch.nn.ModuleDict({ a: new torch.nn.Linear(2, 3), b: new torch.nn.ReLU() }).set('c', new Block());
const empty = new torch.nn.ModuleList();
expectTypeOf(empty).toEqualTypeOf<torch.nn.ModuleList<torch.nn.Module>>();
empty.append(new Block()).append(fc);
const linears = new torch.nn.ModuleList<torch.nn.Linear>([new torch.nn.Linear(2, 3)]);
for (const linear of linears.append(new torch.nn.Linear(3, 4))) expectTypeOf(linear.inFeatures).toEqualTypeOf<number>();
class Stack extends torch.nn.ModuleList<Block> {
  override forward(input: Tensor): Tensor {
    let h = input;
    for (const block of this) h = block.forward(h);
    return h;
  }
}
class Any extends torch.nn.ModuleList {}
class Deep extends torch.nn.Module {
  blocks: torch.nn.ModuleList = new Any([new Block()]);
  own: torch.nn.ModuleList<Block> = new Stack([new Block()]);
  many = new torch.nn.ModuleList(Array.from({ length: 3 }, () => new Block()));
  override forward(input: Tensor): Tensor {
    let h = input;
    for (const block of this.blocks) h = block.forward(h);
    for (const block of this.many) h = block.forward(h);
    return this.own.forward(h);
  }
}
new Deep().blocks = blocks;
