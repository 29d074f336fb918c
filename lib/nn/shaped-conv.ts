/** The types of convolutions: the constructors that keep the arguments on which shapes depend. */
import type { LayerGives, LayerTakes } from '../../types/algebra';
import type { DTypeLike } from '../../types/base';
import type { Tensor } from '../tensor/tensor';
import type { Args } from './arguments';
import type { PaddingMode } from './conv';
import * as conv from './conv';

type Size = number | readonly number[];
type NamedPadding = 'same' | 'valid';

/** The options that change no shape. */
interface Others {
  bias?: boolean | undefined;
  paddingMode?: PaddingMode | undefined;
  device?: string | null | undefined;
  dtype?: DTypeLike | null | undefined;
}
type TransposedOtherArgs = [paddingMode?: PaddingMode, device?: string | null, dtype?: DTypeLike | null];
type OtherArgs = [bias?: boolean, ...TransposedOtherArgs];

interface ConvOptions<S, P, D, G> extends Others {
  stride?: S | undefined;
  padding?: P | undefined;
  dilation?: D | undefined;
  groups?: G | undefined;
}
interface TransposedOptions<S, P, O, G, D> extends ConvOptions<S, P, D, G> {
  outputPadding?: O | undefined;
}

/** "Conv2d(1, 32, 3)" */
type Text<Name extends string, In extends number, Out extends number, K> = K extends number
  ? number extends K
    ? `${Name}(${In}, ${Out})`
    : `${Name}(${In}, ${Out}, ${K})`
  : `${Name}(${In}, ${Out})`;

/** The rules: what `forward` does with shapes. */
type ConvRule<Name extends string, Rank, In extends number, Out extends number, K, S, P, D, G> = readonly [
  'conv',
  Text<Name, In, Out, K>,
  Rank,
  In,
  Out,
  K,
  S,
  P,
  D,
  G,
];
type TransposedRule<Name extends string, Rank, In extends number, Out extends number, K, S, P, O, G, D> = readonly [
  'convTranspose',
  Text<Name, In, Out, K>,
  Rank,
  In,
  Out,
  K,
  S,
  P,
  O,
  G,
  D,
];

// Convolutions whose arguments are part of the type. Those that shapes depend on cannot be changed.

/** @internal Exported for the declarations of libraries. */
export interface ShapedConv1d<R> extends conv.Conv1d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConv2d<R> extends conv.Conv2d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConv3d<R> extends conv.Conv3d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConvTranspose1d<R> extends conv.ConvTranspose1d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
  forward(input: Tensor, outputSize: conv.OutputSize): Tensor;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConvTranspose2d<R> extends conv.ConvTranspose2d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
  forward(input: Tensor, outputSize: conv.OutputSize): Tensor;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConvTranspose3d<R> extends conv.ConvTranspose3d {
  readonly kernelSize: number[];
  readonly stride: number[];
  readonly padding: 'same' | 'valid' | number[];
  readonly dilation: number[];
  readonly outputPadding: number[];
  readonly groups: number;
  /** For the compiler: what \`forward\` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
  forward(input: Tensor, outputSize: conv.OutputSize): Tensor;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedConvs<R> {
  1: ShapedConv1d<R>;
  2: ShapedConv2d<R>;
  3: ShapedConv3d<R>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedTransposed<R> {
  1: ShapedConvTranspose1d<R>;
  2: ShapedConvTranspose2d<R>;
  3: ShapedConvTranspose3d<R>;
}
type ConvOf<Rank extends 1 | 2 | 3, In extends number, Out extends number, K, S, P, D, G> = ShapedConvs<
  ConvRule<`Conv${Rank}d`, Rank, In, Out, K, S, P, D, G>
>[Rank];
type TransposedOf<Rank extends 1 | 2 | 3, In extends number, Out extends number, K, S, P, O, G, D> = ShapedTransposed<
  TransposedRule<`ConvTranspose${Rank}d`, Rank, In, Out, K, S, P, O, G, D>
>[Rank];

/** @internal Exported for the declarations of libraries. The last constructor takes what the others do not, such as all arguments by name: shapes are not known then. */
export interface ConvClass<Rank extends 1 | 2 | 3, Bare> {
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size | NamedPadding = 0,
    const D extends Size = 1,
    const G extends number = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride?: S,
    padding?: P,
    dilation?: D,
    groups?: G,
    ...more: OtherArgs
  ): ConvOf<Rank, In, Out, K, S, P, D, G>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size | NamedPadding = 0,
    const D extends Size = 1,
    const G extends number = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    options: ConvOptions<S, P, D, G>,
  ): ConvOf<Rank, In, Out, K, S, P, D, G>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size | NamedPadding = 0,
    const D extends Size = 1,
    const G extends number = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride: S,
    options: ConvOptions<never, P, D, G>,
  ): ConvOf<Rank, In, Out, K, S, P, D, G>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size | NamedPadding = 0,
    const D extends Size = 1,
    const G extends number = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride: S,
    padding: P,
    options: ConvOptions<never, never, D, G>,
  ): ConvOf<Rank, In, Out, K, S, P, D, G>;
  new (...passed: Args<conv.ConvArgs, conv.ConvSpec>): Bare;
  readonly prototype: Bare;
}

/** @internal Exported for the declarations of libraries. */
export interface ConvTransposeClass<Rank extends 1 | 2 | 3, Bare> {
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size = 0,
    const O extends Size = 0,
    const G extends number = 1,
    const D extends Size = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride?: S,
    padding?: P,
    outputPadding?: O,
    groups?: G,
    bias?: boolean,
    dilation?: D,
    ...more: TransposedOtherArgs
  ): TransposedOf<Rank, In, Out, K, S, P, O, G, D>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size = 0,
    const O extends Size = 0,
    const G extends number = 1,
    const D extends Size = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    options: TransposedOptions<S, P, O, G, D>,
  ): TransposedOf<Rank, In, Out, K, S, P, O, G, D>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size = 0,
    const O extends Size = 0,
    const G extends number = 1,
    const D extends Size = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride: S,
    options: TransposedOptions<never, P, O, G, D>,
  ): TransposedOf<Rank, In, Out, K, S, P, O, G, D>;
  new <
    const In extends number,
    const Out extends number,
    const K extends Size,
    const S extends Size = 1,
    const P extends Size = 0,
    const O extends Size = 0,
    const G extends number = 1,
    const D extends Size = 1,
  >(
    inChannels: In,
    outChannels: Out,
    kernelSize: K,
    stride: S,
    padding: P,
    options: TransposedOptions<never, never, O, G, D>,
  ): TransposedOf<Rank, In, Out, K, S, P, O, G, D>;
  new (...passed: Args<conv.TransposedArgs, conv.TransposedSpec>): Bare;
  readonly prototype: Bare;
}

export const Conv1d = conv.Conv1d as unknown as ConvClass<1, conv.Conv1d>;
export type Conv1d = conv.Conv1d;
export const Conv2d = conv.Conv2d as unknown as ConvClass<2, conv.Conv2d>;
export type Conv2d = conv.Conv2d;
export const Conv3d = conv.Conv3d as unknown as ConvClass<3, conv.Conv3d>;
export type Conv3d = conv.Conv3d;
export const ConvTranspose1d = conv.ConvTranspose1d as unknown as ConvTransposeClass<1, conv.ConvTranspose1d>;
export type ConvTranspose1d = conv.ConvTranspose1d;
export const ConvTranspose2d = conv.ConvTranspose2d as unknown as ConvTransposeClass<2, conv.ConvTranspose2d>;
export type ConvTranspose2d = conv.ConvTranspose2d;
export const ConvTranspose3d = conv.ConvTranspose3d as unknown as ConvTransposeClass<3, conv.ConvTranspose3d>;
export type ConvTranspose3d = conv.ConvTranspose3d;
