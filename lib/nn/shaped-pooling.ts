/** The types of pooling layers: the constructors that keep the arguments on which shapes depend. */
import type { Shaped } from './layer';
import * as pooling from './pooling';

export {
  FractionalMaxPool2d,
  FractionalMaxPool3d,
  MaxUnpool1d,
  MaxUnpool2d,
  MaxUnpool3d,
} from './pooling';

type Rank = 1 | 2 | 3;
type Size = number | readonly number[];
type OutputSize = number | null | readonly (number | null)[];

/** "MaxPool2d(2)" */
type Text<Name extends string, K> = K extends number ? (number extends K ? Name : `${Name}(${K})`) : Name;

/** The arguments that a class has no constructor for here: shapes are not known then. */
type Other<Class extends abstract new (...args: any[]) => unknown> = ConstructorParameters<Class>;
type PoolRule<Name extends string, R extends Rank, K, S, P, D, C> = readonly ['pool', Text<Name, K>, R, K, S, P, D, C];
type AdaptiveRule<Name extends string, R extends Rank, S> = readonly ['adaptive', Text<Name, S>, R, S];

/** @internal Exported for the declarations of libraries. */
export interface MaxPoolClass<R extends Rank, Class extends abstract new (...args: any[]) => unknown> {
  new <
    const K extends Size,
    const S extends Size | null = null,
    const P extends Size = 0,
    const D extends Size = 1,
    const C extends boolean = false,
  >(
    kernelSize: K,
    stride?: S,
    padding?: P,
    dilation?: D,
    returnIndices?: false,
    ceilMode?: C,
  ): Shaped<InstanceType<Class>, PoolRule<`MaxPool${R}d`, R, K, S, P, D, C>>;
  new <
    const K extends Size,
    const S extends Size | null = null,
    const P extends Size = 0,
    const D extends Size = 1,
    const C extends boolean = false,
  >(
    kernelSize: K,
    options: { stride?: S | undefined; padding?: P | undefined; dilation?: D | undefined; ceilMode?: C | undefined },
  ): Shaped<InstanceType<Class>, PoolRule<`MaxPool${R}d`, R, K, S, P, D, C>>;
  new <
    const K extends Size,
    const S extends Size | null,
    const P extends Size = 0,
    const D extends Size = 1,
    const C extends boolean = false,
  >(
    kernelSize: K,
    stride: S,
    options: { padding?: P | undefined; dilation?: D | undefined; ceilMode?: C | undefined },
  ): Shaped<InstanceType<Class>, PoolRule<`MaxPool${R}d`, R, K, S, P, D, C>>;
  new (...passed: Other<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}

/** @internal Exported for the declarations of libraries. */
export interface AvgPoolClass<R extends Rank, Class extends abstract new (...args: any[]) => unknown> {
  new <
    const K extends Size,
    const S extends Size | null = null,
    const P extends Size = 0,
    const C extends boolean = false,
  >(
    kernelSize: K,
    stride?: S,
    padding?: P,
    ceilMode?: C,
    countIncludePad?: boolean,
  ): Shaped<InstanceType<Class>, PoolRule<`AvgPool${R}d`, R, K, S, P, 1, C>>;
  new <
    const K extends Size,
    const S extends Size | null = null,
    const P extends Size = 0,
    const C extends boolean = false,
  >(
    kernelSize: K,
    options: {
      stride?: S | undefined;
      padding?: P | undefined;
      ceilMode?: C | undefined;
      countIncludePad?: boolean | undefined;
    },
  ): Shaped<InstanceType<Class>, PoolRule<`AvgPool${R}d`, R, K, S, P, 1, C>>;
  new (...passed: Other<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}

/** @internal Exported for the declarations of libraries. */
export interface LPPoolClass<R extends Rank, Class extends abstract new (...args: any[]) => unknown> {
  new <const K extends Size, const S extends Size | null = null, const C extends boolean = false>(
    normType: number,
    kernelSize: K,
    stride?: S,
    ceilMode?: C,
  ): Shaped<InstanceType<Class>, PoolRule<`LPPool${R}d`, R, K, S, 0, 1, C>>;
  new (...passed: Other<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}

/** @internal Exported for the declarations of libraries. */
export interface AdaptivePoolClass<
  Name extends string,
  R extends Rank,
  Class extends abstract new (
    ...args: any[]
  ) => unknown,
> {
  new <const S extends OutputSize>(outputSize: S): Shaped<InstanceType<Class>, AdaptiveRule<`${Name}${R}d`, R, S>>;
  new (...passed: Other<Class>): InstanceType<Class>;
  readonly prototype: InstanceType<Class>;
}

export const MaxPool1d = pooling.MaxPool1d as unknown as MaxPoolClass<1, typeof pooling.MaxPool1d>;
export type MaxPool1d = pooling.MaxPool1d;
export const MaxPool2d = pooling.MaxPool2d as unknown as MaxPoolClass<2, typeof pooling.MaxPool2d>;
export type MaxPool2d = pooling.MaxPool2d;
export const MaxPool3d = pooling.MaxPool3d as unknown as MaxPoolClass<3, typeof pooling.MaxPool3d>;
export type MaxPool3d = pooling.MaxPool3d;
export const AvgPool1d = pooling.AvgPool1d as unknown as AvgPoolClass<1, typeof pooling.AvgPool1d>;
export type AvgPool1d = pooling.AvgPool1d;
export const AvgPool2d = pooling.AvgPool2d as unknown as AvgPoolClass<2, typeof pooling.AvgPool2d>;
export type AvgPool2d = pooling.AvgPool2d;
export const AvgPool3d = pooling.AvgPool3d as unknown as AvgPoolClass<3, typeof pooling.AvgPool3d>;
export type AvgPool3d = pooling.AvgPool3d;
export const LPPool1d = pooling.LPPool1d as unknown as LPPoolClass<1, typeof pooling.LPPool1d>;
export type LPPool1d = pooling.LPPool1d;
export const LPPool2d = pooling.LPPool2d as unknown as LPPoolClass<2, typeof pooling.LPPool2d>;
export type LPPool2d = pooling.LPPool2d;
export const LPPool3d = pooling.LPPool3d as unknown as LPPoolClass<3, typeof pooling.LPPool3d>;
export type LPPool3d = pooling.LPPool3d;
export const AdaptiveAvgPool1d = pooling.AdaptiveAvgPool1d as unknown as AdaptivePoolClass<
  'AdaptiveAvgPool',
  1,
  typeof pooling.AdaptiveAvgPool1d
>;
export type AdaptiveAvgPool1d = pooling.AdaptiveAvgPool1d;
export const AdaptiveAvgPool2d = pooling.AdaptiveAvgPool2d as unknown as AdaptivePoolClass<
  'AdaptiveAvgPool',
  2,
  typeof pooling.AdaptiveAvgPool2d
>;
export type AdaptiveAvgPool2d = pooling.AdaptiveAvgPool2d;
export const AdaptiveAvgPool3d = pooling.AdaptiveAvgPool3d as unknown as AdaptivePoolClass<
  'AdaptiveAvgPool',
  3,
  typeof pooling.AdaptiveAvgPool3d
>;
export type AdaptiveAvgPool3d = pooling.AdaptiveAvgPool3d;
export const AdaptiveMaxPool1d = pooling.AdaptiveMaxPool1d as unknown as AdaptivePoolClass<
  'AdaptiveMaxPool',
  1,
  typeof pooling.AdaptiveMaxPool1d
>;
export type AdaptiveMaxPool1d = pooling.AdaptiveMaxPool1d;
export const AdaptiveMaxPool2d = pooling.AdaptiveMaxPool2d as unknown as AdaptivePoolClass<
  'AdaptiveMaxPool',
  2,
  typeof pooling.AdaptiveMaxPool2d
>;
export type AdaptiveMaxPool2d = pooling.AdaptiveMaxPool2d;
export const AdaptiveMaxPool3d = pooling.AdaptiveMaxPool3d as unknown as AdaptivePoolClass<
  'AdaptiveMaxPool',
  3,
  typeof pooling.AdaptiveMaxPool3d
>;
export type AdaptiveMaxPool3d = pooling.AdaptiveMaxPool3d;
