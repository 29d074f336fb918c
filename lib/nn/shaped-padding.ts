/** The types of padding, upsampling, GLU and instance norms: the constructors that keep what shapes depend on. */
import type { LayerGives, LayerTakes } from '../../types/algebra';
import type { DTypeLike } from '../../types/base';
import type { Tensor } from '../tensor/tensor';
import * as activations from './activations';
import type { Shaped } from './layer';
import * as norm from './normalization';
import * as padding from './padding';
import * as vision from './vision';

type Bare = new (...passed: any[]) => unknown;
/** @internal Exported for the declarations of libraries. A class whose first overload is the shaped one; the others are those that it has. */
export interface PaddingClass<Name extends string, Rank, Class extends Bare, More extends unknown[] = []> {
  new <const P extends number | readonly number[]>(
    padding: P,
    ...more: More
  ): Shaped<InstanceType<Class>, readonly ['pad', Name, Rank, P]>;
  new (...passed: ConstructorParameters<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}

type Constant<Name extends string, Rank, Class extends Bare> = PaddingClass<Name, Rank, Class, [value: number]>;
const as = <T>(made: unknown): T => made as T;

export const ConstantPad1d = as<Constant<'ConstantPad1d', 1, typeof padding.ConstantPad1d>>(padding.ConstantPad1d);
export type ConstantPad1d = padding.ConstantPad1d;
export const ConstantPad2d = as<Constant<'ConstantPad2d', 2, typeof padding.ConstantPad2d>>(padding.ConstantPad2d);
export type ConstantPad2d = padding.ConstantPad2d;
export const ConstantPad3d = as<Constant<'ConstantPad3d', 3, typeof padding.ConstantPad3d>>(padding.ConstantPad3d);
export type ConstantPad3d = padding.ConstantPad3d;
export const ReflectionPad1d = as<PaddingClass<'ReflectionPad1d', 1, typeof padding.ReflectionPad1d>>(
  padding.ReflectionPad1d,
);
export type ReflectionPad1d = padding.ReflectionPad1d;
export const ReflectionPad2d = as<PaddingClass<'ReflectionPad2d', 2, typeof padding.ReflectionPad2d>>(
  padding.ReflectionPad2d,
);
export type ReflectionPad2d = padding.ReflectionPad2d;
export const ReflectionPad3d = as<PaddingClass<'ReflectionPad3d', 3, typeof padding.ReflectionPad3d>>(
  padding.ReflectionPad3d,
);
export type ReflectionPad3d = padding.ReflectionPad3d;
export const ReplicationPad1d = as<PaddingClass<'ReplicationPad1d', 1, typeof padding.ReplicationPad1d>>(
  padding.ReplicationPad1d,
);
export type ReplicationPad1d = padding.ReplicationPad1d;
export const ReplicationPad2d = as<PaddingClass<'ReplicationPad2d', 2, typeof padding.ReplicationPad2d>>(
  padding.ReplicationPad2d,
);
export type ReplicationPad2d = padding.ReplicationPad2d;
export const ReplicationPad3d = as<PaddingClass<'ReplicationPad3d', 3, typeof padding.ReplicationPad3d>>(
  padding.ReplicationPad3d,
);
export type ReplicationPad3d = padding.ReplicationPad3d;
export const ZeroPad1d = as<PaddingClass<'ZeroPad1d', 1, typeof padding.ZeroPad1d>>(padding.ZeroPad1d);
export type ZeroPad1d = padding.ZeroPad1d;
export const ZeroPad2d = as<PaddingClass<'ZeroPad2d', 2, typeof padding.ZeroPad2d>>(padding.ZeroPad2d);
export type ZeroPad2d = padding.ZeroPad2d;
export const ZeroPad3d = as<PaddingClass<'ZeroPad3d', 3, typeof padding.ZeroPad3d>>(padding.ZeroPad3d);
export type ZeroPad3d = padding.ZeroPad3d;
export const CircularPad1d = as<PaddingClass<'CircularPad1d', 1, typeof padding.CircularPad1d>>(padding.CircularPad1d);
export type CircularPad1d = padding.CircularPad1d;
export const CircularPad2d = as<PaddingClass<'CircularPad2d', 2, typeof padding.CircularPad2d>>(padding.CircularPad2d);
export type CircularPad2d = padding.CircularPad2d;
export const CircularPad3d = as<PaddingClass<'CircularPad3d', 3, typeof padding.CircularPad3d>>(padding.CircularPad3d);
export type CircularPad3d = padding.CircularPad3d;

interface UpsampleOptions<S, F> {
  size?: S | undefined;
  scaleFactor?: F | undefined;
}
/** @internal Exported for the declarations of libraries. */
export interface UpsampleModes {
  mode?: vision.UpsampleMode | undefined;
  alignCorners?: boolean | null | undefined;
}
type Sizes = number | readonly number[] | null;
/** @internal Exported for the declarations of libraries. Without `recomputeScaleFactor`, which does not change shapes, the arguments are those of Python. `_Own`: see `FlattenClass`. */
export interface UpsamplingClass<Name extends string, Class extends Bare, Modes, More extends unknown[]> {
  new <_Own, const S extends Sizes = null, const F extends Sizes = null>(
    size?: S,
    scaleFactor?: F,
    ...more: More
  ): Shaped<InstanceType<Class>, readonly ['upsample', Name, S, F]>;
  new <_Own, const S extends Sizes = null, const F extends Sizes = null>(
    options: UpsampleOptions<S, F> & Modes,
  ): Shaped<InstanceType<Class>, readonly ['upsample', Name, S, F]>;
  new (...passed: ConstructorParameters<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}
type ModeArgs = [mode?: vision.UpsampleMode, alignCorners?: boolean | null];
export const Upsample = as<UpsamplingClass<'Upsample', typeof vision.Upsample, UpsampleModes, ModeArgs>>(
  vision.Upsample,
);
export type Upsample = vision.Upsample;
export const UpsamplingNearest2d = as<
  UpsamplingClass<'UpsamplingNearest2d', typeof vision.UpsamplingNearest2d, unknown, []>
>(vision.UpsamplingNearest2d);
export type UpsamplingNearest2d = vision.UpsamplingNearest2d;
export const UpsamplingBilinear2d = as<
  UpsamplingClass<'UpsamplingBilinear2d', typeof vision.UpsamplingBilinear2d, unknown, []>
>(vision.UpsamplingBilinear2d);
export type UpsamplingBilinear2d = vision.UpsamplingBilinear2d;

/** @internal Exported for the declarations of libraries. `_Own`: see `FlattenClass`. */
export interface GluClass {
  new <_Own, const D extends number = -1>(dim?: D): Shaped<activations.GLU, readonly ['half', 'GLU', D]>;
  new (...passed: ConstructorParameters<typeof activations.GLU>): activations.GLU;
  readonly prototype: activations.GLU;
}
export const GLU = as<GluClass>(activations.GLU);
export type GLU = activations.GLU;

interface InstanceOptions<A> {
  eps?: number | undefined;
  momentum?: number | null | undefined;
  affine?: A | undefined;
  device?: string | null | undefined;
  dtype?: DTypeLike | null | undefined;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedInstance1<R> extends norm.InstanceNorm1d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedInstance2<R> extends norm.InstanceNorm2d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedInstance3<R> extends norm.InstanceNorm3d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/** Without `affine` and statistics, a layer takes any number of channels. */
type InstanceRule<Rank extends number, Dims, C extends number, A> = readonly [
  'instance',
  `InstanceNorm${Rank}d(${C})`,
  Dims,
  A extends true ? C : null,
];
interface Instances<C extends number, A> {
  1: ShapedInstance1<InstanceRule<1, 2, C, A>>;
  2: ShapedInstance2<InstanceRule<2, 3, C, A>>;
  3: ShapedInstance3<InstanceRule<3, 4, C, A>>;
}
/** @internal Exported for the declarations of libraries. */
export interface InstanceClass<Rank extends 1 | 2 | 3, Made> {
  new <const C extends number, const A extends boolean = false>(
    numFeatures: C,
    eps?: number,
    momentum?: number | null,
    affine?: A,
  ): Instances<C, A>[Rank];
  new <const C extends number, const A extends boolean = false>(
    numFeatures: C,
    options: InstanceOptions<A>,
  ): Instances<C, A>[Rank];
  new (...passed: ConstructorParameters<typeof norm.InstanceNorm1d>): Made;
  readonly prototype: Made;
}
export const InstanceNorm1d = as<InstanceClass<1, norm.InstanceNorm1d>>(norm.InstanceNorm1d);
export type InstanceNorm1d = norm.InstanceNorm1d;
export const InstanceNorm2d = as<InstanceClass<2, norm.InstanceNorm2d>>(norm.InstanceNorm2d);
export type InstanceNorm2d = norm.InstanceNorm2d;
export const InstanceNorm3d = as<InstanceClass<3, norm.InstanceNorm3d>>(norm.InstanceNorm3d);
export type InstanceNorm3d = norm.InstanceNorm3d;
