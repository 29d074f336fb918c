/** torch.nn.SyncBatchNorm: batch normalization over the batches of all ranks. Python's torch/nn/modules/batchnorm.py. */

import type { Same } from '../../../types/algebra';
import { native } from '../../addon/native';
import { memberOf, ProcessGroup } from '../../distributed/group';
import { argumentError, codedError } from '../../errors/errors';
import { Flag, RecordingMode } from '../../generated/codes';
import { type Tensor, wrapElement } from '../../tensor/tensor';
import { type Args, factory, type Kind, kind, nameOf, orNull, read } from '../arguments';
import { demandModule, type ModuleLike } from '../given';
import { demandDims } from '../inputs';
import type { FactoryArgs } from '../linear';
import type { Module } from '../module';
import { BatchNorm, normSpecs } from '../normalization';

declare module '../../addon/interface' {
  interface Native {
    /** A handle or 0 for each tensor; the result is for wrapElement(). */
    syncBatchNorm(
      group: unknown,
      input: number,
      weight: number,
      bias: number,
      runningMean: number,
      runningVar: number,
      momentum: number,
      eps: number,
    ): unknown;
  }
}

const { device, dtype } = factory;
const { device: _device, dtype: _dtype, bias, ...batch } = normSpecs.batch;
const group: Kind<ProcessGroup> = kind(
  'a ProcessGroup',
  undefined,
  (value) => (value instanceof ProcessGroup ? value : undefined),
  ({ name }) => name,
);
const spec = { ...batch, processGroup: orNull({ ...group, required: false }), device, dtype, bias };
type SyncArgs = [
  numFeatures: number,
  eps?: number,
  momentum?: number | null,
  affine?: boolean,
  trackRunningStats?: boolean,
  processGroup?: ProcessGroup | null,
  ...FactoryArgs,
];

const FN = nameOf('SyncBatchNorm');
const handleOf = (tensor: Tensor | null): number => tensor?._handle ?? 0;

/**
 * While it trains, it normalizes by mean and variance of the batches of all ranks of `processGroup` (default: the default
 * group), whose sizes may differ. Each forward waits for all ranks on the JavaScript thread, each backward where it runs. On
 * the CPU too, where PyTorch refuses it. In evaluation it is a BatchNorm.
 */
export class SyncBatchNorm extends BatchNorm {
  processGroup: ProcessGroup | null;

  constructor(...passed: Args<SyncArgs, typeof spec>) {
    const given = read('SyncBatchNorm', spec, passed);
    super(given);
    this.processGroup = given.processGroup;
  }

  /** @internal */
  override _dims() {
    return [2, 3, 4, 5];
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    if (!this.training) return super.forward(input);
    const group = memberOf(`${FN}.forward`, this.processGroup);
    if (group.size === 1) return super.forward(input);
    demandDims(this, input, this._dims());
    if (!input.isFloatingPoint() || input.shape[1] !== this.numFeatures) {
      throw argumentError(`${FN}.forward`, 'input', `a floating-point Tensor of ${this.numFeatures} channels`, input);
    }
    if (native.flags[Flag.Recording] !== RecordingMode.Off) {
      const text = `${FN}.forward: expected a forward outside torch.run, as it waits for the other ranks; its backward may be inside`;
      throw codedError(Error, 'ERR_TORCH_PENDING', text);
    }
    const tracks = this.trackRunningStats;
    const factor = this._countBatch();
    const made = native.syncBatchNorm(
      group._native,
      input._handle,
      handleOf(this.weight),
      handleOf(this.bias),
      handleOf(tracks ? this.runningMean : null),
      handleOf(tracks ? this.runningVar : null),
      factor,
      this.eps,
    );
    return wrapElement(made) as Same<T>;
  }

  /**
   * The module with a SyncBatchNorm in place of each BatchNorm in it, with its parameters and buffers; a BatchNorm itself gives
   * a SyncBatchNorm. Before `DistributedDataParallel`.
   */
  static convertSyncBatchnorm(module: ModuleLike, processGroup: ProcessGroup | null = null): Module {
    const fn = `${FN}.convertSyncBatchnorm`;
    const root = demandModule(fn, 'module', module);
    if (processGroup !== null && !(processGroup instanceof ProcessGroup)) {
      throw argumentError(fn, 'processGroup', 'a ProcessGroup or null', processGroup);
    }
    return converted(root, processGroup, new Map());
  }
}

function converted(module: Module, group: ProcessGroup | null, made: Map<Module, Module>): Module {
  const known = made.get(module);
  if (known !== undefined) return known;
  const result = module instanceof BatchNorm ? syncOf(module, group) : module;
  made.set(module, result); // before its children, which may lead back to it
  for (const [name, child] of module._children()) {
    const next = converted(child, group, made);
    if (next !== child) module._replaceChild(name, next);
  }
  return result;
}

/** Shares the parameters and buffers. */
function syncOf(norm: BatchNorm, processGroup: ProcessGroup | null): SyncBatchNorm {
  const { numFeatures, eps, momentum, training } = norm;
  const made = new SyncBatchNorm(numFeatures, eps, momentum, false, false, processGroup);
  made.affine = norm.affine;
  made.trackRunningStats = norm.trackRunningStats;
  made.weight = norm.weight;
  made.bias = norm.bias;
  made.runningMean = norm.runningMean;
  made.runningVar = norm.runningVar;
  made.numBatchesTracked = norm.numBatchesTracked;
  made.training = training;
  return made;
}
