/** Losses. */
import { warn } from '../call/warnings';
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import {
  buffer,
  flag,
  float,
  fn,
  int,
  type Kind,
  nameOf,
  num,
  orNull,
  type Spec,
  text,
  type Values,
} from './arguments';
import { PairwiseDistance } from './distances';
import { layer, type PairLayer } from './layer';
import { Module, name as pythonNames } from './module';
import { F } from './ops';

export type Reduction = 'none' | 'mean' | 'sum';
type Old = boolean | null;
type OldArgs = [sizeAverage?: Old, reduce?: Old, reduction?: Reduction];
/** @internal Exported for the declarations of libraries. */
export interface TripleLoss extends Module {
  forward(first: Tensor, second: Tensor, third: Tensor): Tensor;
}

const reduction = text<Reduction>('mean');
/** Older names of `reduction`. */
const old = orNull(flag()) as ReturnType<typeof orNull<boolean>>;
const oldNames = { sizeAverage: old, reduce: old };
const plain = { ...oldNames, reduction };

/** `sizeAverage` and `reduce` decide `reduction`, if they are given. */
function reductionOf(module: Module & { sizeAverage?: unknown; reduce?: unknown; reduction?: unknown }): void {
  const { sizeAverage = null, reduce = null } = module;
  if (sizeAverage !== null || reduce !== null) {
    module.reduction = reduce === false ? 'none' : sizeAverage === false ? 'sum' : 'mean';
    warn(`sizeAverage and reduce are deprecated. Use reduction: '${module.reduction}' instead.`);
  }
  delete module.sizeAverage;
  delete module.reduce;
}

const loss =
  <P extends unknown[], L extends Module = PairLayer>() =>
  <S extends Spec>(
    name: string,
    spec: S,
    run: (options: Values<S> & { reduction: Reduction }, ...args: Parameters<L['forward']>) => Tensor,
    init: (module: Values<S> & Module) => void = () => {},
  ) =>
    layer<P, L>()(name, spec, {
      forward(...args: Parameters<L['forward']>) {
        return run(this as unknown as Values<S> & { reduction: Reduction }, ...args) as ReturnType<L['forward']>;
      },
      inputs: run.length - 1,
      init(module) {
        reductionOf(module);
        init(module);
      },
    });

/** A loss of two tensors whose function has the options `names`. */
const ofTwo = <P extends unknown[], S extends Spec>(name: string, op: string, spec: S, names: readonly string[] = []) =>
  loss<P>()(name, spec, (module, input, target) => {
    const options: Record<string, unknown> = { reduction: module.reduction };
    for (const key of names) options[key] = (module as Record<string, unknown>)[key];
    return F[op](input, target, options);
  });

export const L1Loss = ofTwo<OldArgs, typeof plain>('L1Loss', 'l1Loss', plain);
export type L1Loss = InstanceType<typeof L1Loss>;
export const MSELoss = ofTwo<OldArgs, typeof plain>('MSELoss', 'mseLoss', plain);
export type MSELoss = InstanceType<typeof MSELoss>;
export const SoftMarginLoss = ofTwo<OldArgs, typeof plain>('SoftMarginLoss', 'softMarginLoss', plain);
export type SoftMarginLoss = InstanceType<typeof SoftMarginLoss>;
export const MultiLabelMarginLoss = ofTwo<OldArgs, typeof plain>('MultiLabelMarginLoss', 'multilabelMarginLoss', plain);
export type MultiLabelMarginLoss = InstanceType<typeof MultiLabelMarginLoss>;

const weighted = { weight: buffer, ...plain };
type WeightedArgs = [weight?: Tensor | null, ...OldArgs];
export const BCELoss = ofTwo<WeightedArgs, typeof weighted>('BCELoss', 'binaryCrossEntropy', weighted, ['weight']);
export type BCELoss = InstanceType<typeof BCELoss>;
export const MultiLabelSoftMarginLoss = ofTwo<WeightedArgs, typeof weighted>(
  'MultiLabelSoftMarginLoss',
  'multilabelSoftMarginLoss',
  weighted,
  ['weight'],
);
export type MultiLabelSoftMarginLoss = InstanceType<typeof MultiLabelSoftMarginLoss>;
const withLogits = { ...weighted, posWeight: buffer };
export const BCEWithLogitsLoss = ofTwo<[...WeightedArgs, posWeight?: Tensor | null], typeof withLogits>(
  'BCEWithLogitsLoss',
  'binaryCrossEntropyWithLogits',
  withLogits,
  ['weight', 'posWeight'],
);
export type BCEWithLogitsLoss = InstanceType<typeof BCEWithLogitsLoss>;
pythonNames(BCEWithLogitsLoss, { posWeight: 'pos_weight' });

const nll = { weight: buffer, sizeAverage: old, ignoreIndex: int(-100), reduce: old, reduction };
type NllArgs = [weight?: Tensor | null, sizeAverage?: Old, ignoreIndex?: number, reduce?: Old, reduction?: Reduction];
export const NLLLoss = ofTwo<NllArgs, typeof nll>('NLLLoss', 'nllLoss', nll, ['weight', 'ignoreIndex']);
export type NLLLoss = InstanceType<typeof NLLLoss>;
/** Python's older name of NLLLoss. */
export const NLLLoss2d = ofTwo<NllArgs, typeof nll>('NLLLoss2d', 'nllLoss', nll, ['weight', 'ignoreIndex']);
export type NLLLoss2d = InstanceType<typeof NLLLoss2d>;
const crossEntropy = { ...nll, labelSmoothing: float(0) };
export const CrossEntropyLoss = ofTwo<[...NllArgs, labelSmoothing?: number], typeof crossEntropy>(
  'CrossEntropyLoss',
  'crossEntropy',
  crossEntropy,
  ['weight', 'ignoreIndex', 'labelSmoothing'],
);
export type CrossEntropyLoss = InstanceType<typeof CrossEntropyLoss>;
const poisson = {
  logInput: flag(true),
  full: flag(false),
  sizeAverage: old,
  eps: float(1e-8),
  reduce: old,
  reduction,
};
export const PoissonNLLLoss = ofTwo<
  [logInput?: boolean, full?: boolean, sizeAverage?: Old, eps?: number, reduce?: Old, reduction?: Reduction],
  typeof poisson
>('PoissonNLLLoss', 'poissonNllLoss', poisson, ['logInput', 'full', 'eps']);
export type PoissonNLLLoss = InstanceType<typeof PoissonNLLLoss>;
type PerBatch = Reduction | 'batchmean';
const klDiv = { ...oldNames, reduction: text<PerBatch>('mean'), logTarget: flag(false) };
export const KLDivLoss = ofTwo<
  [sizeAverage?: Old, reduce?: Old, reduction?: PerBatch, logTarget?: boolean],
  typeof klDiv
>('KLDivLoss', 'klDiv', klDiv, ['logTarget']);
export type KLDivLoss = InstanceType<typeof KLDivLoss>;
const smoothL1 = { ...plain, beta: float(1) };
export const SmoothL1Loss = ofTwo<[...OldArgs, beta?: number], typeof smoothL1>(
  'SmoothL1Loss',
  'smoothL1Loss',
  smoothL1,
  ['beta'],
);
export type SmoothL1Loss = InstanceType<typeof SmoothL1Loss>;
const huber = { reduction, delta: float(1) };
export const HuberLoss = ofTwo<[reduction?: Reduction, delta?: number], typeof huber>('HuberLoss', 'huberLoss', huber, [
  'delta',
]);
export type HuberLoss = InstanceType<typeof HuberLoss>;
const hinge = { margin: float(1), ...plain };
export const HingeEmbeddingLoss = ofTwo<[margin?: number, ...OldArgs], typeof hinge>(
  'HingeEmbeddingLoss',
  'hingeEmbeddingLoss',
  hinge,
  ['margin'],
);
export type HingeEmbeddingLoss = InstanceType<typeof HingeEmbeddingLoss>;
const multiMargin = { p: int(1), margin: float(1), weight: buffer, ...plain };
export const MultiMarginLoss = loss<[p?: number, margin?: number, weight?: Tensor | null, ...OldArgs]>()(
  'MultiMarginLoss',
  multiMargin,
  ({ p, margin, weight, reduction }, input, target) =>
    F.multiMarginLoss(input, target, { p, margin, weight, reduction }),
  ({ p, weight }) => {
    const at = nameOf('MultiMarginLoss');
    if (p !== 1 && p !== 2) throw argumentError(at, 'p', '1 or 2', p);
    if (weight !== null && weight.ndim !== 1) throw argumentError(at, 'weight', 'a Tensor of 1 dimension', weight);
  },
);
export type MultiMarginLoss = InstanceType<typeof MultiMarginLoss>;

const gaussian = { full: flag(false), eps: float(1e-6), reduction };
export const GaussianNLLLoss = loss<[full?: boolean, eps?: number, reduction?: Reduction], TripleLoss>()(
  'GaussianNLLLoss',
  gaussian,
  ({ full, eps, reduction }, input, target, variance) =>
    F.gaussianNllLoss(input, target, variance, { full, eps, reduction }),
);
export type GaussianNLLLoss = InstanceType<typeof GaussianNLLLoss>;
const pairs = { margin: float(0), ...plain };
const ofPairs = (name: string, op: string) =>
  loss<[margin?: number, ...OldArgs], TripleLoss>()(name, pairs, ({ margin, reduction }, a, b, target) =>
    F[op](a, b, target, { margin, reduction }),
  );
export const CosineEmbeddingLoss = ofPairs('CosineEmbeddingLoss', 'cosineEmbeddingLoss');
export type CosineEmbeddingLoss = InstanceType<typeof CosineEmbeddingLoss>;
export const MarginRankingLoss = ofPairs('MarginRankingLoss', 'marginRankingLoss');
export type MarginRankingLoss = InstanceType<typeof MarginRankingLoss>;
const triplet = { margin: float(1), p: num(2), eps: float(1e-6), swap: flag(false), ...plain };
export const TripletMarginLoss = loss<
  [margin?: number, p?: number, eps?: number, swap?: boolean, ...OldArgs],
  TripleLoss
>()('TripletMarginLoss', triplet, ({ margin, p, eps, swap, reduction }, anchor, positive, negative) =>
  F.tripletMarginLoss(anchor, positive, negative, { margin, p, eps, swap, reduction }),
);
export type TripletMarginLoss = InstanceType<typeof TripletMarginLoss>;
type Distance = ((a: Tensor, b: Tensor) => Tensor) | Module;
const distanceFunction: Kind<Distance | null> = orNull({
  ...fn<any>(),
  expected: 'a Module or a function',
  convert: (value) => (value instanceof Module ? value : fn<any>().convert(value)),
});
const withDistance = { distanceFunction, margin: float(1), swap: flag(false), reduction };
export const TripletMarginWithDistanceLoss = loss<
  [distanceFunction?: Distance | null, margin?: number, swap?: boolean, reduction?: Reduction],
  TripleLoss
>()(
  'TripletMarginWithDistanceLoss',
  withDistance,
  ({ distanceFunction, margin, swap, reduction }, anchor, positive, negative) =>
    F.tripletMarginWithDistanceLoss(anchor, positive, negative, { distanceFunction, margin, swap, reduction }),
  (module) => {
    module.distanceFunction ??= new PairwiseDistance();
  },
);
pythonNames(TripletMarginWithDistanceLoss, { distanceFunction: 'distance_function' });
export type TripletMarginWithDistanceLoss = InstanceType<typeof TripletMarginWithDistanceLoss>;
type Lengths = Tensor | readonly number[];
const ctc = { blank: int(0), reduction, zeroInfinity: flag(false) };
/** @internal Exported for the declarations of libraries. */
export interface SequenceLoss extends Module {
  forward(logProbs: Tensor, targets: Tensor, inputLengths: Lengths, targetLengths: Lengths): Tensor;
}
export const CTCLoss = loss<[blank?: number, reduction?: Reduction, zeroInfinity?: boolean], SequenceLoss>()(
  'CTCLoss',
  ctc,
  ({ blank, reduction, zeroInfinity }, logProbs, targets, inputLengths, targetLengths) =>
    F.ctcLoss(logProbs, targets, inputLengths, targetLengths, { blank, reduction, zeroInfinity }),
);
export type CTCLoss = InstanceType<typeof CTCLoss>;
