/** torch.optim.swaUtils.AveragedModel and updateBn: averages of a whole model. Python's torch/optim/swa_utils.py. */
import { inGradMode } from '../autograd/mode';
import type { DataLoader } from '../data/loader';
import { tensor } from '../elements/create';
import { argumentError, refusal } from '../errors/errors';
import { disposeAll } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import { type AverageFunction, getSwaAvgFn, getSwaMultiAvgFn, type MultiAverageFunction } from '../optim/swa-utils';
import { isTensor, type Tensor } from '../tensor/tensor';
import { type Args, type Device, flag, fn, orNull, read, text } from './arguments';
import { demandModule, type ModuleLike, moduleLike } from './given';
import { Module, name as pythonNames } from './module';
import { BatchNorm } from './normalization';
import { averagesByLerp, syncsBuffers } from './release';

const spec = {
  model: moduleLike,
  device: orNull(text()),
  avgFn: orNull(fn<AverageFunction>()),
  multiAvgFn: orNull(fn<MultiAverageFunction>()),
  useBuffers: flag(false),
};

/** A copy of a model whose parameters are averages of the model's. */
export class AveragedModel<M extends Module = Module> extends Module {
  module: M;
  declare nAveraged: Tensor;
  avgFn: AverageFunction | null;
  multiAvgFn: MultiAverageFunction | null;
  useBuffers: boolean;

  constructor(
    ...passed: Args<
      [
        model: ModuleLike<M>,
        device?: Device,
        avgFn?: AverageFunction | null,
        multiAvgFn?: MultiAverageFunction | null,
        useBuffers?: boolean,
      ],
      typeof spec
    >
  ) {
    super();
    const at = 'optim.swaUtils.AveragedModel';
    const { model, device, avgFn, multiAvgFn, useBuffers } = read(at, spec, passed);
    if (avgFn !== null && multiAvgFn !== null) {
      throw argumentError(at, 'multiAvgFn', 'null, since avgFn is given', multiAvgFn);
    }
    this.module = model.deepCopy() as M;
    if (device !== null) this.module.to(device);
    const count = tensor(0, { dtype: 'int64', ...(device === null ? {} : { device }) } as never) as Tensor;
    this.registerBuffer('nAveraged', count);
    this.avgFn = avgFn;
    this.multiAvgFn = multiAvgFn;
    this.useBuffers = useBuffers;
  }

  override forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    return this.module.forward(...inputs);
  }

  /** Adds the model's present parameters to the averages. */
  updateParameters(model: ModuleLike): void {
    const at = 'optim.swaUtils.AveragedModel.updateParameters';
    const source = demandModule(at, 'model', model);
    const of = (from: Module): Tensor[] =>
      this.useBuffers ? [...from.parameters(), ...from.buffers()] : from.parameters();
    const [own, theirs] = [of(this.module), of(source)];
    demandAlike(at, own, theirs);
    inGradMode(false, () =>
      ownScope(() => {
        const averages = own.map((one) => one.detach() as Tensor);
        const values = theirs.map((one, i) => onDevice(one.detach() as Tensor, averages[i]!.device));
        const count = Number(this.nAveraged.item());
        if (count === 0) copyAll(averages, values);
        else this._average(averages, values, count);
        if (syncsBuffers && !this.useBuffers) copyBuffers(at, this.module, source);
        this.nAveraged.add_(1);
      }, false),
    );
  }

  /** @internal */
  _average(averages: Tensor[], values: Tensor[], count: number): void {
    const { avgFn, multiAvgFn } = this;
    if (multiAvgFn === null) {
      const next = avgFn ?? getSwaAvgFn();
      for (const [i, average] of averages.entries()) {
        const value = values[i]!;
        if (avgFn === null && averagesByLerp(average.device)) getSwaMultiAvgFn()([average], [value], count);
        else average.copy_(next(average, value, count));
      }
      return;
    }
    const groups = new Map<string, number[]>();
    averages.forEach(({ device, dtype }, i) => {
      const key = `${device} ${dtype}`;
      groups.set(key, [...(groups.get(key) ?? []), i]);
    });
    for (const places of groups.values()) {
      const chosen = (list: Tensor[]) => places.map((i) => list[i]!);
      multiAvgFn(chosen(averages), chosen(values), count);
    }
  }
}
pythonNames(AveragedModel, { nAveraged: 'n_averaged' });

const onDevice = (one: Tensor, device: string): Tensor =>
  one.device === device ? one : (one.to(device as never) as Tensor);

function demandAlike(at: string, own: readonly Tensor[], theirs: readonly Tensor[]): void {
  const fits =
    own.length === theirs.length && own.every((one, i) => one.shape.join() === (theirs[i]!.shape as number[]).join());
  if (!fits)
    throw refusal(at, 'model', 'a model with parameters of the same shapes', `${theirs.length} of other shapes`);
}

function copyAll(into: readonly Tensor[], values: readonly Tensor[]): void {
  for (const [i, one] of into.entries()) one.copy_(values[i]!);
}

function copyBuffers(at: string, into: Module, model: Module): void {
  const [own, theirs] = [into.buffers(), model.buffers()];
  demandAlike(at, own, theirs);
  copyAll(own, theirs);
}

type Batch = Tensor | readonly unknown[];

/**
 * Computes the running statistics of batch normalizations anew from the batches of a loader: tensors, or lists that begin with
 * one. For an asynchronous loader, such as a DataLoader, it returns a promise. Batches that a DataLoader made are released.
 */
export function updateBn(loader: AsyncIterable<Batch>, model: ModuleLike, device?: Device): Promise<void>;
export function updateBn(loader: Iterable<Batch>, model: ModuleLike, device?: Device): void;
export function updateBn(
  loader: Iterable<Batch> | AsyncIterable<Batch>,
  given: ModuleLike,
  device: Device = null,
): void | Promise<void> {
  const at = 'optim.swaUtils.updateBn';
  const model = demandModule(at, 'model', given);
  const isAsync = typeof (loader as AsyncIterable<Batch> | null)?.[Symbol.asyncIterator] === 'function';
  if (!isAsync && (typeof (loader as Iterable<Batch> | null)?.[Symbol.iterator] !== 'function' || isTensor(loader))) {
    throw argumentError(at, 'loader', 'an iterable of batches', loader);
  }
  const norms = model.modules().filter((one): one is BatchNorm => one instanceof BatchNorm);
  if (norms.length === 0) return isAsync ? Promise.resolve() : undefined;
  const undo = begun(model, norms);
  const call = (batch: Batch) => {
    const input: unknown = Array.isArray(batch) ? batch[0] : batch;
    if (!isTensor(input)) throw argumentError(at, 'loader', 'batches that are or begin with a Tensor', input);
    inGradMode(false, () =>
      ownScope(() => {
        model.forward(device === null ? input : onDevice(input, device));
      }, false),
    );
  };
  if (isAsync) return callEach(loader as AsyncIterable<Batch>, call, undo);
  try {
    for (const batch of loader as Iterable<Batch>) call(batch);
  } finally {
    undo();
  }
}

/** Resets the statistics, which become means of all batches. Gives what undoes that. */
function begun(model: Module, norms: readonly BatchNorm[]): () => void {
  const { training } = model;
  const momenta = norms.map(({ momentum }) => momentum);
  inGradMode(false, () => {
    for (const norm of norms) norm.resetRunningStats();
  });
  model.train();
  for (const norm of norms) norm.momentum = null;
  return () => {
    for (const [i, norm] of norms.entries()) norm.momentum = momenta[i]!;
    model.train(training);
  };
}

async function callEach(loader: AsyncIterable<Batch>, call: (batch: Batch) => void, undo: () => void): Promise<void> {
  const isMade = (loader as Partial<DataLoader>)._makesBatches === true;
  try {
    for await (const batch of loader) {
      try {
        call(batch);
      } finally {
        if (isMade) disposeAll(batch);
      }
    }
  } finally {
    undo();
  }
}
