/** The types of recurrent layers, attention and the Transformer family: constructors that keep what shapes depend on. */
import type { HasRule, LayerGives, LayerTakes, Product, StatesGiven, StepsGiven } from '../../types/algebra';
import type { DTypeLike } from '../../types/base';
import type { Tensor } from '../tensor/tensor';
import * as attention from './attention';
import type { Hx } from './cells';
import type { Module } from './module';
import * as recurrent from './recurrent';
import * as transformer from './transformer';
import * as layers from './transformer-layers';
import type { PackedSequence } from './utils/packed';

interface Factory {
  device?: string | null | undefined;
  dtype?: DTypeLike | null | undefined;
}

/** Sequences whose last size is `Size`. */
type SequenceRule<Name extends string, Size extends number> = readonly ['sequence', Name, Size];

interface RecurrentOptions<L, F, Two> extends Factory {
  numLayers?: L | undefined;
  bias?: boolean | undefined;
  batchFirst?: F | undefined;
  dropout?: number | undefined;
  bidirectional?: Two | undefined;
}
type Directions<Two> = Two extends true ? 2 : Two extends false ? 1 : number;

/** What a recurrent layer gives: every step, and the state after the last. */
type Given<T extends Tensor, H extends number, Two, Hidden> = [
  output: StepsGiven<T, Product<H, Directions<Two>>>,
  hidden: Hidden,
];
type State<T extends Tensor, H extends number, L extends number, F, Two> = StatesGiven<
  T,
  Product<L, Directions<Two>>,
  H,
  F
>;

/** @internal Exported for the declarations of libraries. */
export interface ShapedRNN<In extends number, H extends number, L extends number, F, Two> extends recurrent.RNN {
  readonly inputSize: In;
  readonly hiddenSize: H;
  forward(input: PackedSequence, hx?: Hx<Tensor>): [output: PackedSequence, hidden: Tensor];
  forward<T extends Tensor>(
    input: T & LayerTakes<T, SequenceRule<`RNN(${In}, ${H})`, In>>,
    hx?: Hx<Tensor>,
  ): Given<T, H, Two, State<T, H, L, F, Two>>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedGRU<In extends number, H extends number, L extends number, F, Two> extends recurrent.GRU {
  readonly inputSize: In;
  readonly hiddenSize: H;
  forward(input: PackedSequence, hx?: Hx<Tensor>): [output: PackedSequence, hidden: Tensor];
  forward<T extends Tensor>(
    input: T & LayerTakes<T, SequenceRule<`GRU(${In}, ${H})`, In>>,
    hx?: Hx<Tensor>,
  ): Given<T, H, Two, State<T, H, L, F, Two>>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedLSTM<In extends number, H extends number, L extends number, F, Two> extends recurrent.LSTM {
  readonly inputSize: In;
  readonly hiddenSize: H;
  forward(
    input: PackedSequence,
    hx?: Hx<readonly [hidden: Tensor, cell: Tensor]>,
  ): [output: PackedSequence, hidden: [hidden: Tensor, cell: Tensor]];
  forward<T extends Tensor>(
    input: T & LayerTakes<T, SequenceRule<`LSTM(${In}, ${H})`, In>>,
    hx?: Hx<readonly [hidden: Tensor, cell: Tensor]>,
  ): Given<T, H, Two, [hidden: State<T, H, L, F, Two>, cell: State<T, H, L, F, Two>]>;
}

/** @internal Exported for the declarations of libraries. */
export interface RNNClass {
  new <
    const In extends number,
    const H extends number,
    const L extends number = 1,
    const F extends boolean = false,
    const Two extends boolean = false,
  >(
    inputSize: In,
    hiddenSize: H,
    options?: RecurrentOptions<L, F, Two> & { nonlinearity?: 'tanh' | 'relu' | undefined },
  ): ShapedRNN<In, H, L, F, Two>;
  new (...passed: ConstructorParameters<typeof recurrent.RNN>): recurrent.RNN;
  readonly prototype: recurrent.RNN;
}
export const RNN = recurrent.RNN as unknown as RNNClass;
export type RNN = recurrent.RNN;

/** @internal Exported for the declarations of libraries. */
export interface GRUClass {
  new <
    const In extends number,
    const H extends number,
    const L extends number = 1,
    const F extends boolean = false,
    const Two extends boolean = false,
  >(
    inputSize: In,
    hiddenSize: H,
    options?: RecurrentOptions<L, F, Two>,
  ): ShapedGRU<In, H, L, F, Two>;
  new (...passed: ConstructorParameters<typeof recurrent.GRU>): recurrent.GRU;
  readonly prototype: recurrent.GRU;
}
export const GRU = recurrent.GRU as unknown as GRUClass;
export type GRU = recurrent.GRU;

/** @internal Exported for the declarations of libraries. Without `projSize`, with which results have another size. */
export interface LSTMClass {
  new <
    const In extends number,
    const H extends number,
    const L extends number = 1,
    const F extends boolean = false,
    const Two extends boolean = false,
  >(
    inputSize: In,
    hiddenSize: H,
    options?: RecurrentOptions<L, F, Two>,
  ): ShapedLSTM<In, H, L, F, Two>;
  new (...passed: ConstructorParameters<typeof recurrent.LSTM>): recurrent.LSTM;
  readonly prototype: recurrent.LSTM;
}
export const LSTM = recurrent.LSTM as unknown as LSTMClass;
export type LSTM = recurrent.LSTM;

/** @internal Exported for the declarations of libraries. */
export interface ShapedAttention<Name extends string, E extends number, K extends number, V extends number>
  extends attention.MultiheadAttention {
  readonly embedDim: E;
  /** Gives the result, and the weights of attention unless `needWeights` is false. */
  forward<Q extends Tensor, Keys extends Tensor, Values extends Tensor>(
    query: Q & LayerTakes<Q, SequenceRule<Name, E>>,
    key: Keys & LayerTakes<Keys, SequenceRule<`${Name}, key`, K>>,
    value: Values & LayerTakes<Values, SequenceRule<`${Name}, value`, V>>,
    ...more: attention.AttentionInputs
  ): [output: LayerGives<Q, SequenceRule<Name, E>>, weights: Tensor | null];
}
/** @internal Exported for the declarations of libraries. */
export interface AttentionClass {
  new <const E extends number, const H extends number, const K extends number = E, const V extends number = E>(
    embedDim: E,
    numHeads: H,
    options?: Factory & {
      dropout?: number | undefined;
      bias?: boolean | undefined;
      addBiasKv?: boolean | undefined;
      addZeroAttn?: boolean | undefined;
      kdim?: K | undefined;
      vdim?: V | undefined;
      batchFirst?: boolean | undefined;
    },
  ): ShapedAttention<`MultiheadAttention(${E}, ${H})`, E, K, V>;
  new (...passed: ConstructorParameters<typeof attention.MultiheadAttention>): attention.MultiheadAttention;
  readonly prototype: attention.MultiheadAttention;
}
export const MultiheadAttention = attention.MultiheadAttention as unknown as AttentionClass;
export type MultiheadAttention = attention.MultiheadAttention;

interface TransformerArgs extends Factory {
  dimFeedforward?: number | undefined;
  dropout?: number | undefined;
  activation?: layers.Activation | undefined;
  layerNormEps?: number | undefined;
  batchFirst?: boolean | undefined;
  normFirst?: boolean | undefined;
  bias?: boolean | undefined;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedEncoderLayer<R> extends layers.TransformerEncoderLayer {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(src: T & LayerTakes<T, R>, ...more: layers.EncoderLayerInputs): LayerGives<T, R>;
}
/** @internal Exported for the declarations of libraries. */
export interface EncoderLayerClass {
  new <const D extends number>(
    dModel: D,
    nhead: number,
    options?: TransformerArgs,
  ): ShapedEncoderLayer<SequenceRule<`TransformerEncoderLayer(${D})`, D>>;
  new <const D extends number>(
    dModel: D,
    nhead: number,
    dimFeedforward: number,
    options?: Omit<TransformerArgs, 'dimFeedforward'>,
  ): ShapedEncoderLayer<SequenceRule<`TransformerEncoderLayer(${D})`, D>>;
  new (...passed: ConstructorParameters<typeof layers.TransformerEncoderLayer>): layers.TransformerEncoderLayer;
  readonly prototype: layers.TransformerEncoderLayer;
}
export const TransformerEncoderLayer = layers.TransformerEncoderLayer as unknown as EncoderLayerClass;
export type TransformerEncoderLayer = layers.TransformerEncoderLayer;

/** @internal `Size`: the last size of both sequences. */
export interface ShapedDecoderLayer<Name extends string, Size extends number> extends layers.TransformerDecoderLayer {
  /** For the compiler: the last size of both sequences. */
  readonly _size?: Size;
  forward<T extends Tensor, M extends Tensor>(
    tgt: T & LayerTakes<T, SequenceRule<Name, Size>>,
    memory: M & LayerTakes<M, SequenceRule<`${Name}, memory`, Size>>,
    ...more: layers.DecoderInputs
  ): LayerGives<T, SequenceRule<Name, Size>>;
}
/** @internal Exported for the declarations of libraries. */
export interface DecoderLayerClass {
  new <const D extends number>(
    dModel: D,
    nhead: number,
    options?: TransformerArgs,
  ): ShapedDecoderLayer<`TransformerDecoderLayer(${D})`, D>;
  new <const D extends number>(
    dModel: D,
    nhead: number,
    dimFeedforward: number,
    options?: Omit<TransformerArgs, 'dimFeedforward'>,
  ): ShapedDecoderLayer<`TransformerDecoderLayer(${D})`, D>;
  new (...passed: ConstructorParameters<typeof layers.TransformerDecoderLayer>): layers.TransformerDecoderLayer;
  readonly prototype: layers.TransformerDecoderLayer;
}
export const TransformerDecoderLayer = layers.TransformerDecoderLayer as unknown as DecoderLayerClass;
export type TransformerDecoderLayer = layers.TransformerDecoderLayer;

/** @internal Exported for the declarations of libraries. */
export interface ShapedEncoder<R> extends transformer.TransformerEncoder {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(src: T & LayerTakes<T, R>, ...more: transformer.EncoderInputs): LayerGives<T, R>;
}
type EncoderOf<L> =
  L extends HasRule<infer R>
    ? R extends readonly ['sequence', string, infer D extends number]
      ? ShapedEncoder<SequenceRule<`TransformerEncoder(${D})`, D>>
      : transformer.TransformerEncoder
    : transformer.TransformerEncoder;
/** @internal Exported for the declarations of libraries. */
export interface EncoderClass {
  new <L extends Module>(encoderLayer: L, ...more: transformer.EncoderArgs): EncoderOf<L>;
  new (...passed: ConstructorParameters<typeof transformer.TransformerEncoder>): transformer.TransformerEncoder;
  readonly prototype: transformer.TransformerEncoder;
}
export const TransformerEncoder = transformer.TransformerEncoder as unknown as EncoderClass;
export type TransformerEncoder = transformer.TransformerEncoder;

/** @internal Exported for the declarations of libraries. */
export interface ShapedDecoder<Name extends string, Size extends number> extends transformer.TransformerDecoder {
  forward<T extends Tensor, M extends Tensor>(
    tgt: T & LayerTakes<T, SequenceRule<Name, Size>>,
    memory: M & LayerTakes<M, SequenceRule<`${Name}, memory`, Size>>,
    ...more: layers.DecoderInputs
  ): LayerGives<T, SequenceRule<Name, Size>>;
}
type DecoderOf<L> = L extends { readonly _size?: infer D }
  ? D extends number
    ? ShapedDecoder<`TransformerDecoder(${D})`, D>
    : transformer.TransformerDecoder
  : transformer.TransformerDecoder;
/** @internal Exported for the declarations of libraries. */
export interface DecoderClass {
  new <L extends Module>(decoderLayer: L, ...more: transformer.DecoderArgs): DecoderOf<L>;
  new (...passed: ConstructorParameters<typeof transformer.TransformerDecoder>): transformer.TransformerDecoder;
  readonly prototype: transformer.TransformerDecoder;
}
export const TransformerDecoder = transformer.TransformerDecoder as unknown as DecoderClass;
export type TransformerDecoder = transformer.TransformerDecoder;

/** @internal Exported for the declarations of libraries. */
export interface ShapedTransformer<Name extends string, Size extends number> extends transformer.Transformer {
  readonly dModel: Size;
  forward<S extends Tensor, T extends Tensor>(
    src: S & LayerTakes<S, SequenceRule<`${Name}, src`, Size>>,
    tgt: T & LayerTakes<T, SequenceRule<Name, Size>>,
    ...more: transformer.TransformerInputs
  ): LayerGives<T, SequenceRule<Name, Size>>;
}
/** @internal Exported for the declarations of libraries. `_Own`: see `FlattenClass`. */
export interface TransformerClass {
  new <_Own, const D extends number = 512>(
    dModel?: D,
    nhead?: number,
    options?: TransformerArgs & {
      numEncoderLayers?: number | undefined;
      numDecoderLayers?: number | undefined;
    },
  ): ShapedTransformer<`Transformer(${D})`, D>;
  new (...passed: ConstructorParameters<typeof transformer.Transformer>): transformer.Transformer;
  readonly prototype: transformer.Transformer;
  /** A mask that lets each position attend to those before it. */
  generateSquareSubsequentMask<const Size extends number>(size: Size): Tensor<'float32', [Size, Size]>;
}
export const Transformer = transformer.Transformer as unknown as TransformerClass;
export type Transformer = transformer.Transformer;
