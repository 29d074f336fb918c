/** The types of layers: the constructors that keep the arguments on which shapes depend. */
import type { LayerGives, LayerTakes, Linked } from '../../types/algebra';
import type { Difference } from '../../types/algebra/number';
import type { DType, DTypeLike } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import type { Tensor } from '../tensor/tensor';
import * as containers from './containers';
import * as embedding from './embedding';
import type { ModuleLike } from './given';
import type { Shaped } from './layer';
import * as linear from './linear';
import type { Module } from './module';
import * as norm from './normalization';
import type { Parameter } from './parameter';

type Size = number | readonly number[];

interface Factory {
  device?: string | null | undefined;
  dtype?: DTypeLike | null | undefined;
}

/** @internal Exported for the declarations of libraries. `_Own` is not used. A class can extend one whose generic constructors all need a type: others change what the base is. */
export interface FlattenClass {
  new <_Own, const S extends number = 1, const E extends number = -1>(
    startDim?: S,
    endDim?: E,
  ): Shaped<linear.Flatten, readonly ['flatten', 'Flatten', S, E]>;
  new (...passed: ConstructorParameters<typeof linear.Flatten>): linear.Flatten;
  readonly prototype: linear.Flatten;
}
export const Flatten = linear.Flatten as unknown as FlattenClass;
export type Flatten = linear.Flatten;

/** @internal Exported for the declarations of libraries. */
export interface UnflattenClass {
  new <const D extends number, const S extends readonly number[]>(
    dim: D,
    unflattenedSize: S,
  ): Shaped<linear.Unflatten, readonly ['unflatten', 'Unflatten', D, S]>;
  new (...passed: ConstructorParameters<typeof linear.Unflatten>): linear.Unflatten;
  readonly prototype: linear.Unflatten;
}
export const Unflatten = linear.Unflatten as unknown as UnflattenClass;
export type Unflatten = linear.Unflatten;

/** @internal Exported for the declarations of libraries. */
export interface ShapedEmbedding<Rows extends number, Dim extends number> extends embedding.Embedding {
  readonly embeddingDim: number;
  weight: Parameter<DType, [Rows, Dim]>;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: EmbeddingRule<Rows, Dim>;
  forward<T extends Tensor>(
    input: T & LayerTakes<T, EmbeddingRule<Rows, Dim>>,
  ): LayerGives<T, EmbeddingRule<Rows, Dim>>;
}
type EmbeddingRule<Rows extends number, Dim extends number> = readonly [
  'embedding',
  `Embedding(${Rows}, ${Dim})`,
  Rows,
  Dim,
];
interface EmbeddingOptions extends Factory {
  paddingIdx?: number | null | undefined;
  maxNorm?: number | null | undefined;
  normType?: number | undefined;
  scaleGradByFreq?: boolean | undefined;
  sparse?: boolean | undefined;
}
/** @internal Exported for the declarations of libraries. */
export interface EmbeddingClass {
  new <const Rows extends number, const Dim extends number>(
    numEmbeddings: Rows,
    embeddingDim: Dim,
    options?: EmbeddingOptions,
  ): ShapedEmbedding<Rows, Dim>;
  new <const Rows extends number, const Dim extends number>(
    numEmbeddings: Rows,
    embeddingDim: Dim,
    paddingIdx: number | null | undefined,
    options?: Omit<EmbeddingOptions, 'paddingIdx'>,
  ): ShapedEmbedding<Rows, Dim>;
  new (...passed: ConstructorParameters<typeof embedding.Embedding>): embedding.Embedding;
  readonly prototype: embedding.Embedding;
  /** An embedding with the rows of `embeddings`, which does not train them unless `freeze` is false. */
  fromPretrained: typeof embedding.Embedding.fromPretrained;
}
export const Embedding = embedding.Embedding as unknown as EmbeddingClass;
export type Embedding = embedding.Embedding;

/** Without `trackRunningStats`: a layer without statistics and parameters takes any number of channels. */
interface NormOptions extends Factory {
  eps?: number | undefined;
  momentum?: number | null | undefined;
  affine?: boolean | undefined;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedBatchNorm1d<R> extends norm.BatchNorm1d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedBatchNorm2d<R> extends norm.BatchNorm2d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/** @internal Exported for the declarations of libraries. */
export interface ShapedBatchNorm3d<R> extends norm.BatchNorm3d {
  readonly numFeatures: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
interface BatchNorms<C extends number> {
  1: ShapedBatchNorm1d<readonly ['channels', `BatchNorm1d(${C})`, 2 | 3, C]>;
  2: ShapedBatchNorm2d<readonly ['channels', `BatchNorm2d(${C})`, 4, C]>;
  3: ShapedBatchNorm3d<readonly ['channels', `BatchNorm3d(${C})`, 5, C]>;
}
/** @internal Exported for the declarations of libraries. */
export interface BatchNormClass<Rank extends 1 | 2 | 3, Bare> {
  new <const C extends number>(
    numFeatures: C,
    eps?: number,
    momentum?: number | null,
    affine?: boolean,
  ): BatchNorms<C>[Rank];
  new <const C extends number>(numFeatures: C, options: NormOptions): BatchNorms<C>[Rank];
  new (...passed: ConstructorParameters<typeof norm.BatchNorm2d>): Bare;
  readonly prototype: Bare;
}
export const BatchNorm1d = norm.BatchNorm1d as unknown as BatchNormClass<1, norm.BatchNorm1d>;
export type BatchNorm1d = norm.BatchNorm1d;
export const BatchNorm2d = norm.BatchNorm2d as unknown as BatchNormClass<2, norm.BatchNorm2d>;
export type BatchNorm2d = norm.BatchNorm2d;
export const BatchNorm3d = norm.BatchNorm3d as unknown as BatchNormClass<3, norm.BatchNorm3d>;
export type BatchNorm3d = norm.BatchNorm3d;

/** @internal Exported for the declarations of libraries. */
export interface ShapedLayerNorm<R> extends norm.LayerNorm {
  readonly normalizedShape: number[];
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedRMSNorm<R> extends norm.RMSNorm {
  readonly normalizedShape: number[];
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

/** @internal Exported for the declarations of libraries. */
export interface ShapedGroupNorm<R> extends norm.GroupNorm {
  readonly numChannels: number;
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}

type LastRule<Name extends string, N> = readonly ['last', N extends number ? `${Name}(${N})` : Name, N];
interface LayerNormOptions<Eps> extends Factory {
  eps?: Eps | undefined;
  elementwiseAffine?: boolean | undefined;
  bias?: boolean | undefined;
}
/** @internal Exported for the declarations of libraries. */
export interface LayerNormClass {
  new <const N extends Size>(
    normalizedShape: N,
    eps?: number,
    elementwiseAffine?: boolean,
  ): ShapedLayerNorm<LastRule<'LayerNorm', N>>;
  new <const N extends Size>(
    normalizedShape: N,
    options: LayerNormOptions<number>,
  ): ShapedLayerNorm<LastRule<'LayerNorm', N>>;
  new (...passed: ConstructorParameters<typeof norm.LayerNorm>): norm.LayerNorm;
  readonly prototype: norm.LayerNorm;
}
export const LayerNorm = norm.LayerNorm as unknown as LayerNormClass;
export type LayerNorm = norm.LayerNorm;

/** @internal Exported for the declarations of libraries. */
export interface RMSNormClass {
  new <const N extends Size>(
    normalizedShape: N,
    eps?: number | null,
    elementwiseAffine?: boolean,
  ): ShapedRMSNorm<LastRule<'RMSNorm', N>>;
  new <const N extends Size>(
    normalizedShape: N,
    options: Omit<LayerNormOptions<number | null>, 'bias'>,
  ): ShapedRMSNorm<LastRule<'RMSNorm', N>>;
  new (...passed: ConstructorParameters<typeof norm.RMSNorm>): norm.RMSNorm;
  readonly prototype: norm.RMSNorm;
}
export const RMSNorm = norm.RMSNorm as unknown as RMSNormClass;
export type RMSNorm = norm.RMSNorm;

type GroupNormRule<G extends number, C extends number> = readonly [
  'channels',
  `GroupNorm(${G}, ${C})`,
  2 | 3 | 4 | 5 | 6 | 7 | 8,
  C,
];
/** @internal Exported for the declarations of libraries. Without `affine`: a layer without parameters takes any number of channels. */
export interface GroupNormClass {
  new <const G extends number, const C extends number>(
    numGroups: G,
    numChannels: C,
    eps?: number,
  ): ShapedGroupNorm<GroupNormRule<G, C>>;
  new <const G extends number, const C extends number>(
    numGroups: G,
    numChannels: C,
    options: Factory & { eps?: number | undefined },
  ): ShapedGroupNorm<GroupNormRule<G, C>>;
  new (...passed: ConstructorParameters<typeof norm.GroupNorm>): norm.GroupNorm;
  readonly prototype: norm.GroupNorm;
}
export const GroupNorm = norm.GroupNorm as unknown as GroupNormClass;
export type GroupNorm = norm.GroupNorm;

/** Instead of a module that would change the layers of a Sequential whose type names them. */
type Fixed = 'the type of this Sequential names its layers: declare it as nn.Sequential to change them';

/** The layer at a position that is known. */
type LayerAt<R, I extends number> = number extends I
  ? Module | undefined
  : R extends readonly [unknown, unknown, infer Layers extends readonly unknown[]]
    ? `${I}` extends `-${infer Back extends number}`
      ? Layers[Difference<Layers['length'], Back>]
      : Layers[I]
    : Module | undefined;

/** @internal Exported for the declarations of libraries. */
export interface ShapedSequential<R> extends containers.Sequential {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
  at<const I extends number>(index: I): LayerAt<R, I>;
  append(module: Module & Fixed): this;
  extend(modules: Iterable<Module> & Fixed): this;
  insert(index: number, module: Module & Fixed): this;
  set(index: number, module: Module & Fixed): this;
}
type SequentialOf<Modules extends readonly Module[]> = number extends Modules['length']
  ? containers.Sequential
  : ShapedSequential<readonly ['sequential', 'Sequential', Modules]>;

/** @internal Exported for the declarations of libraries. */
export interface SequentialClass {
  new (): containers.Sequential;
  /** With a TorchScript model in it. The other overloads check the shapes between layers. */
  new <Parts extends readonly ModuleLike[]>(
    ...modules: Parts & (ScriptModule extends Parts[number] ? unknown : never)
  ): containers.Sequential;
  new <Modules extends readonly Module[] = Module[]>(...modules: Modules & Linked<Modules>): SequentialOf<Modules>;
  new <M extends Record<string, Module>>(
    modules: M & WithNames<M>,
  ): containers.Sequential & Named<M, containers.Sequential>;
  new (modules: Record<string, ModuleLike> | Map<string, ModuleLike>): containers.Sequential;
  readonly prototype: containers.Sequential;
}
export const Sequential = containers.Sequential as unknown as SequentialClass;
export type Sequential = containers.Sequential;

type IsUnion<M, Each = M> = M extends unknown ? ([Each] extends [M] ? false : true) : never;

/** The sizes that the type of a layer names. */
type SizesOf<M> = M[Extract<keyof M, 'inFeatures' | 'inputSize' | 'embedDim' | 'dModel'>];

/** Whether a type tells the shapes of one layer, which others of its class do not have. */
type IsShaped<M> = [SizesOf<M>] extends [never]
  ? Extract<keyof M, '_rule' | '_size'> extends never
    ? false
    : true
  : number extends SizesOf<M>
    ? false
    : true;

/**
 * The elements of a list that is made of modules of the type M. Those of several classes are Modules, whose `forward` takes
 * anything: a union of them could not be called. So are layers whose type tells their shapes, as further layers rarely have the
 * same ones.
 */
type ElementsOf<M extends Module> = true extends IsUnion<M> | IsShaped<M> ? Module : M;

/** @internal Exported for the declarations of libraries. */
export interface ModuleListClass {
  /** `new nn.ModuleList<nn.Linear>(…)` is a list of linear layers of any sizes. */
  new <M extends Module = Module>(modules?: Iterable<ModuleLike<M>> | null): containers.ModuleList<ElementsOf<M>>;
  readonly prototype: containers.ModuleList;
}
export const ModuleList = containers.ModuleList as unknown as ModuleListClass;
export type ModuleList<M extends Module = Module> = containers.ModuleList<M>;

/** The modules of an object by its names, as properties: `dict.encoder`. Names of the class's own are read by `get`. */
type Named<M, Own> = { [K in Exclude<keyof M, keyof Own>]: M[K] };
/** Whether the names of an object are known. */
type WithNames<M> = string extends keyof M ? never : unknown;

/** @internal Exported for the declarations of libraries. */
export type NamedModuleDict<M> = { get<K extends keyof M>(key: K): M[K] } & containers.ModuleDict<
  ElementsOf<Extract<M[keyof M], Module>>
> &
  Named<M, containers.ModuleDict>;

/** @internal Exported for the declarations of libraries. */
export interface ModuleDictClass {
  /** The type of each module is known by its name. */
  new <M extends Record<string, Module>>(modules: M & WithNames<M>): NamedModuleDict<M>;
  /** `new nn.ModuleDict<nn.Linear>(…)` has linear layers of any sizes. */
  new <M extends Module = Module>(
    modules?: Iterable<[string, ModuleLike<M>]> | Record<string, ModuleLike<M>> | null,
  ): containers.ModuleDict<ElementsOf<M>>;
  readonly prototype: containers.ModuleDict;
}
export const ModuleDict = containers.ModuleDict as unknown as ModuleDictClass;
export type ModuleDict<M extends Module = Module> = containers.ModuleDict<M>;
