/** torch.utils.data.DistributedSampler: the samples of one rank, in PyTorch's order for the same seed. */
import { byName } from '../addon/options';
import { ops } from '../autograd/tuples';
import { argumentError, codedError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { flagOf, lengthOf } from './arguments';
import { type Chunk, type Draws, drawing } from './order';
import { replicas } from './replicas';
import { ChunkSampler } from './samplers';

export interface DistributedSamplerOptions {
  /** How many processes share the dataset. Default: the size of the default process group. */
  numReplicas?: number | null | undefined;
  /** Which of them this is. Default: the rank in the default process group. */
  rank?: number | null | undefined;
  /** Draw a new order for each epoch, the same in all processes. Default: true. */
  shuffle?: boolean | undefined;
  /** The seed of the orders, the same in all processes. Default: 0. */
  seed?: number | undefined;
  /** Leave out the last samples, instead of repeating some, if the dataset cannot be shared out evenly. Default: false. */
  dropLast?: boolean | undefined;
}

const FN = 'utils.data.DistributedSampler';
const NAMES = ['dataset', 'numReplicas', 'rank', 'shuffle', 'seed', 'dropLast'] as const;

/**
 * The share of a dataset that one of several processes reads: every `numReplicas`-th sample of an order that all processes
 * draw alike. Call `setEpoch(epoch)` before each pass, or each pass has the same order.
 */
export class DistributedSampler extends ChunkSampler {
  readonly dataset: { readonly length: number };
  readonly numReplicas: number;
  readonly rank: number;
  readonly shuffle: boolean;
  readonly seed: number;
  readonly dropLast: boolean;
  /** The samples of this process in each pass. */
  readonly numSamples: number;
  /** Those of all processes. */
  readonly totalSize: number;
  #epoch = 0;

  constructor(dataset: { readonly length: number }, options?: DistributedSamplerOptions);
  constructor(
    dataset: { readonly length: number },
    numReplicas?: number | null,
    rank?: number | null,
    shuffle?: boolean,
    seed?: number,
    dropLast?: boolean,
  );
  constructor(
    dataset: { readonly length: number },
    numReplicas: number | null,
    rank: number | null,
    options: Omit<DistributedSamplerOptions, 'numReplicas' | 'rank'>,
  );
  constructor(...passed: unknown[]) {
    super();
    const given = byName(FN, NAMES, 1, passed);
    this.dataset = given.dataset as { readonly length: number };
    const length = lengthOf(FN, 'dataset', this.dataset);
    const group = given.numReplicas == null || given.rank == null ? replicas(FN) : null;
    this.numReplicas = integerOf('numReplicas', given.numReplicas ?? group!.worldSize, 1, Number.MAX_SAFE_INTEGER);
    this.rank = integerOf('rank', given.rank ?? group!.rank, 0, this.numReplicas - 1);
    this.shuffle = flagOf(FN, 'shuffle', given.shuffle, true);
    this.seed = integerOf('seed', given.seed ?? 0, 0, Number.MAX_SAFE_INTEGER);
    this.dropLast = flagOf(FN, 'dropLast', given.dropLast, false);
    this.numSamples = this.dropLast ? Math.floor(length / this.numReplicas) : Math.ceil(length / this.numReplicas);
    this.totalSize = this.numSamples * this.numReplicas;
  }

  /** The number of the pass, which the order depends on if `shuffle` is set. */
  get epoch(): number {
    return this.#epoch;
  }
  get length(): number {
    return this.numSamples;
  }
  /** @internal */
  override get _isRandom(): boolean {
    return this.shuffle;
  }

  /** Sets the number of the next pass: all processes must set the same. */
  setEpoch(epoch: number): void {
    this.#epoch = integerOf('epoch', epoch, 0, Number.MAX_SAFE_INTEGER - this.seed, `${FN}.setEpoch`);
  }

  /** @internal */
  *_chunks(draws: Draws): Iterator<Chunk | null> {
    const { length } = this.dataset;
    const expected = this.dropLast ? Math.floor(length / this.numReplicas) : Math.ceil(length / this.numReplicas);
    if (expected !== this.numSamples) {
      const message = `${FN}: expected a dataset with ${this.numSamples} samples for each rank, as when the sampler was made, got ${expected}`;
      throw Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: FN });
    }
    if (!this.shuffle) {
      yield draws.given(ownScope(() => this.#share(ops().arange!(length, { dtype: 'int64' }))));
      return;
    }
    draws.seeded(this.seed + this.#epoch);
    yield draws.draw((generator) =>
      ownScope(() => this.#share(ops().randperm!(length, { dtype: 'int64', ...drawing(generator) }))),
    );
  }

  /** This rank's indices of an order, which is continued from its beginning if it is too short. */
  #share(order: Tensor): Tensor {
    const { totalSize, rank, numReplicas } = this;
    const length = order.numel;
    const more = Math.max(0, totalSize - length);
    const parts = Array.from({ length: 1 + Math.floor(more / Math.max(1, length)) }, () => order);
    if (more > 0) parts.push(order.narrow(0, 0, more % length) as Tensor);
    const whole = more === 0 ? order : ops().cat!(parts);
    const share = (whole as unknown as { slice(...args: number[]): Tensor }).slice(0, rank, totalSize, numReplicas);
    return share.clone() as Tensor; // not a view, which would keep the whole order
  }
}

function integerOf(name: string, value: unknown, least: number, most: number, fn = FN): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (!Number.isSafeInteger(number) || (number as number) < least || (number as number) > most) {
    const upTo = most >= Number.MAX_SAFE_INTEGER / 2 ? `of ${least} or more` : `from ${least} to ${most}`;
    throw argumentError(fn, name, `an integer ${upTo}`, value);
  }
  return number as number;
}
