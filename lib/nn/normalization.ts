/** Normalization. */

import type { Same } from '../../types/algebra';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { type Args, type Factory, factory, flag, float, int, intList, made, nameOf, orNull, read } from './arguments';
import { takesInputs } from './hooks';
import { constant_ } from './init';
import { demandDims, demandTensor } from './inputs';
import { constant, filledIn, layer, parameter } from './layer';
import type { FactoryArgs } from './linear';
import { Module, name as pythonNames } from './module';
import { aten, F } from './ops';
import type { Parameter } from './parameter';
import { pythonBoolean, pythonFloat, pythonNumbers } from './python';
import { normalizedByRoot, printsNormBias } from './release';
import type { StateDict } from './state';

/** What the text of a module says about its bias. */
const biasText = (bias: Parameter | null): string => (printsNormBias ? `, bias=${pythonBoolean(bias !== null)}` : '');

/** Python's initial values of an affine map: it changes nothing. */
function resetAffine({ weight, bias }: { weight: Parameter | null; bias: Parameter | null }): void {
  if (weight !== null) constant_(weight, 1);
  if (bias !== null) constant_(bias, 0);
}

const spec = {
  numFeatures: int(),
  eps: float(1e-5),
  momentum: orNull(float(0.1)),
  affine: flag(true),
  trackRunningStats: flag(true),
  ...factory,
  bias: flag(true),
};
const instanceSpec = { ...spec, affine: flag(false), trackRunningStats: flag(false) };
export const normSpecs = { batch: spec, instance: instanceSpec };
export type NormSpec = typeof spec;
export type NormArgs = [
  numFeatures: number,
  eps?: number,
  momentum?: number | null,
  affine?: boolean,
  trackRunningStats?: boolean,
  ...FactoryArgs,
];

/** What batch and instance normalization have in common. `bias`, as Python has it from 2.14, goes by name. */
export abstract class NormBase extends Module {
  numFeatures: number;
  eps: number;
  momentum: number | null;
  affine: boolean;
  trackRunningStats: boolean;
  weight: Parameter | null;
  bias: Parameter | null;
  declare runningMean: Tensor | null;
  declare runningVar: Tensor | null;
  declare numBatchesTracked: Tensor | null;

  /** @internal */
  constructor(given: ReturnType<typeof read<NormSpec>>) {
    super();
    const { numFeatures, affine, trackRunningStats } = given;
    this.numFeatures = numFeatures;
    this.eps = given.eps;
    this.momentum = given.momentum;
    this.affine = affine;
    this.trackRunningStats = trackRunningStats;
    this.weight = affine ? constant([numFeatures], 1, given) : null;
    this.bias = affine && given.bias ? constant([numFeatures], 0, given) : null;
    this._makeBuffers(given);
  }

  /** @internal */
  _makeBuffers(options: Factory): void {
    const { numFeatures, trackRunningStats: tracks } = this;
    const { device } = options;
    this.registerBuffer('runningMean', tracks ? aten.zeros([numFeatures], made(options)) : null);
    this.registerBuffer('runningVar', tracks ? aten.ones([numFeatures], made(options)) : null);
    const count = { ...(device === null ? {} : { device }), dtype: 'int64' };
    this.registerBuffer('numBatchesTracked', tracks ? aten.zeros([], count) : null);
  }

  resetRunningStats(): void {
    if (!this.trackRunningStats) return;
    this.runningMean?.zero_();
    this.runningVar?.fill_(1);
    this.numBatchesTracked?.zero_();
  }

  resetParameters(): void {
    this.resetRunningStats();
    resetAffine(this);
  }

  override extraRepr(): string {
    const { numFeatures, eps, momentum, affine, trackRunningStats } = this;
    const start = `${numFeatures}, eps=${pythonFloat(eps)}, momentum=${momentum === null ? 'None' : pythonFloat(momentum)}`;
    return `${start}, affine=${pythonBoolean(affine)}${biasText(this.bias)}, track_running_stats=${pythonBoolean(trackRunningStats)}`;
  }

  /** @internal State dicts without a version, as programs make them, may lack the counter. */
  override _beforeLoad(dict: StateDict, prefix: string): void {
    const key = `${prefix}num_batches_tracked`;
    if (this.numBatchesTracked !== null && !(key in dict)) dict[key] = aten.zeros([], { dtype: 'int64' }) as Tensor;
  }
}
pythonNames(NormBase as unknown as { prototype: Module }, {
  runningMean: 'running_mean',
  runningVar: 'running_var',
  numBatchesTracked: 'num_batches_tracked',
});

/** What batch normalizations have in common. */
export abstract class BatchNorm extends NormBase {
  /** @internal */
  abstract _dims(): readonly number[];

  /** @internal Counts a batch, if batches are tracked. Returns the weight of its statistics in the running ones. */
  _countBatch(): number {
    const { momentum } = this;
    if (!this.training || !this.trackRunningStats || this.numBatchesTracked === null) return momentum ?? 0;
    this.numBatchesTracked.add_(1);
    return momentum ?? 1 / Number(this.numBatchesTracked.item());
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    demandDims(this, input, this._dims());
    const { training, runningMean, runningVar, weight, bias, eps } = this;
    const factor = this._countBatch();
    const batch = training || (runningMean === null && runningVar === null);
    const keeps = !training || this.trackRunningStats;
    return F.batchNorm(input, keeps ? runningMean : null, keeps ? runningVar : null, weight, bias, batch, factor, eps);
  }
}

/** What instance normalizations have in common. */
export abstract class InstanceNorm extends NormBase {
  /** @internal The dimensions of an input without a batch. */
  abstract _dims(): number;

  override forward(input: Tensor): Tensor {
    const dims = this._dims();
    demandDims(this, input, [dims, dims + 1]);
    if (input.ndim === dims + 1) return this._apply(input);
    return ownScope(() => this._apply(input.unsqueeze(0) as Tensor).squeeze(0) as Tensor);
  }

  private _apply(input: Tensor): Tensor {
    const { runningMean, runningVar, weight, bias, momentum, eps } = this;
    const own = this.training || !this.trackRunningStats;
    return F.instanceNorm(input, runningMean, runningVar, weight, bias, own, momentum ?? 0, eps);
  }
}

export class BatchNorm1d extends BatchNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('BatchNorm1d', spec, passed));
  }

  /** @internal */
  override _dims() {
    return [2, 3];
  }
}

export class BatchNorm2d extends BatchNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('BatchNorm2d', spec, passed));
  }

  /** @internal */
  override _dims() {
    return [4];
  }
}

export class BatchNorm3d extends BatchNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('BatchNorm3d', spec, passed));
  }

  /** @internal */
  override _dims() {
    return [5];
  }
}

export class InstanceNorm1d extends InstanceNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('InstanceNorm1d', instanceSpec, passed));
  }

  /** @internal */
  override _dims() {
    return 2;
  }
}

export class InstanceNorm2d extends InstanceNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('InstanceNorm2d', instanceSpec, passed));
  }

  /** @internal */
  override _dims() {
    return 3;
  }
}

export class InstanceNorm3d extends InstanceNorm {
  constructor(...passed: Args<NormArgs, NormSpec>) {
    super(read('InstanceNorm3d', instanceSpec, passed));
  }

  /** @internal */
  override _dims() {
    return 4;
  }
}

const layerNorm = {
  normalizedShape: intList(),
  eps: float(1e-5),
  elementwiseAffine: flag(true),
  ...factory,
  bias: flag(true),
};

/** Normalizes over the last dimensions. `bias`, as Python has it from 2.1, goes by name. */
export class LayerNorm extends Module {
  normalizedShape: number[];
  eps: number;
  elementwiseAffine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;

  constructor(
    ...passed: Args<
      [normalizedShape: number | number[], eps?: number, elementwiseAffine?: boolean, ...FactoryArgs],
      typeof layerNorm
    >
  ) {
    super();
    const given = read('LayerNorm', layerNorm, passed);
    const { normalizedShape, elementwiseAffine } = given;
    this.normalizedShape = normalizedShape;
    this.eps = given.eps;
    this.elementwiseAffine = elementwiseAffine;
    this.weight = elementwiseAffine ? parameter(normalizedShape, given) : null;
    this.bias = elementwiseAffine && given.bias ? parameter(normalizedShape, given) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    resetAffine(this);
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    return F.layerNorm(input, this.normalizedShape, this.weight, this.bias, this.eps);
  }

  override extraRepr(): string {
    const { normalizedShape, eps, elementwiseAffine } = this;
    const affine = pythonBoolean(elementwiseAffine);
    return `${pythonNumbers(normalizedShape)}, eps=${pythonFloat(eps)}, elementwise_affine=${affine}${biasText(this.bias)}`;
  }
}

const rmsNorm = {
  normalizedShape: intList(),
  eps: orNull(float()),
  elementwiseAffine: flag(true),
  ...factory,
};

/** Divides by the root of the mean square over the last dimensions. */
export class RMSNorm extends Module {
  normalizedShape: number[];
  /** Null for the dtype's own. */
  eps: number | null;
  elementwiseAffine: boolean;
  weight: Parameter | null;

  constructor(
    ...passed: Args<
      [normalizedShape: number | number[], eps?: number | null, elementwiseAffine?: boolean, ...FactoryArgs],
      typeof rmsNorm
    >
  ) {
    super();
    const given = read('RMSNorm', rmsNorm, passed);
    this.normalizedShape = given.normalizedShape;
    this.eps = given.eps;
    this.elementwiseAffine = given.elementwiseAffine;
    this.weight = given.elementwiseAffine ? constant(given.normalizedShape, 1, given) : null;
  }

  resetParameters(): void {
    if (this.weight !== null) constant_(this.weight, 1);
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    demandTensor(this, 'input', input);
    return normalizedByRoot(input, this.normalizedShape, this.weight, this.eps) as Same<T>;
  }

  override extraRepr(): string {
    const { normalizedShape, eps, elementwiseAffine } = this;
    const epsilon = eps === null ? 'None' : pythonFloat(eps);
    return `${pythonNumbers(normalizedShape)}, eps=${epsilon}, elementwise_affine=${pythonBoolean(elementwiseAffine)}`;
  }
}

const groupNorm = {
  numGroups: int(),
  numChannels: int(),
  eps: float(1e-5),
  affine: flag(true),
  ...factory,
  bias: flag(true),
};

/** Normalizes over groups of channels. `bias`, as Python has it from 2.14, goes by name. */
export class GroupNorm extends Module {
  numGroups: number;
  numChannels: number;
  eps: number;
  affine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;

  constructor(
    ...passed: Args<
      [numGroups: number, numChannels: number, eps?: number, affine?: boolean, ...FactoryArgs],
      typeof groupNorm
    >
  ) {
    super();
    const given = read('GroupNorm', groupNorm, passed);
    const { numGroups, numChannels } = given;
    if (numChannels % numGroups !== 0) {
      throw argumentError(nameOf('GroupNorm'), 'numChannels', `a multiple of numGroups, ${numGroups}`, numChannels);
    }
    this.numGroups = numGroups;
    this.numChannels = numChannels;
    this.eps = given.eps;
    this.affine = given.affine;
    this.weight = given.affine ? parameter([numChannels], given) : null;
    this.bias = given.affine && given.bias ? parameter([numChannels], given) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    resetAffine(this);
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    return F.groupNorm(input, this.numGroups, this.weight, this.bias, this.eps);
  }

  override extraRepr(): string {
    const start = filledIn('{numGroups}, {numChannels}, eps={eps}, affine={affine}', groupNorm, this);
    return start + biasText(this.bias);
  }
}

export const LocalResponseNorm = layer<[size: number, alpha?: number, beta?: number, k?: number]>()(
  'LocalResponseNorm',
  { size: int(), alpha: float(1e-4), beta: float(0.75), k: float(1) },
  {
    forward(input) {
      return F.localResponseNorm(input, this.size, this.alpha, this.beta, this.k);
    },
    extra: '{size}, alpha={alpha}, beta={beta}, k={k}',
  },
);
export type LocalResponseNorm = InstanceType<typeof LocalResponseNorm>;

for (const cls of [BatchNorm, InstanceNorm, LayerNorm, RMSNorm, GroupNorm]) takesInputs(cls);
