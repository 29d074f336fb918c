/** How far a pass has come, and the state dict of a loader. */
import { isPlainObject } from '../addon/options';
import { argumentError, refusal } from '../errors/errors';
import type { Generator } from './arguments';
import { type Mark, type Resume, stateAt } from './batches';
import { fromBase64, setState, toBase64 } from './order';

const FN = 'utils.data.DataLoader.loadStateDict';

/** Plain values: fit for `torch.save`, JSON and `postMessage`. */
export interface DataLoaderState {
  /** The number of the pass, from 0 on. */
  epoch: number;
  /** The batches of the pass that were given to the program. */
  position: number;
  /** The seed of the pass; null before the first batch. */
  seed: string | null;
  /** The place in the order of the sampler; null for samplers of the program. */
  order: { chunk: number; offset: number; random: string | null } | null;
  /** The states of the loader's and the sampler's generators. */
  generators: string[];
  /** Whether the dataset's iterator has ended: the last batch was given. */
  ended: boolean;
  /** What gives the order of the samples. */
  kind: OrderKind;
  /** The number of samples in a pass; null for orders of the program. */
  samples: number | null;
  batchSize: number | null;
  /** What the dataset's own `stateDict()` returned. */
  dataset?: unknown;
}

/** A random sampler, one that goes through the indices, one of the program, or a dataset that is read in order. */
export type OrderKind = 'random' | 'sequential' | 'sampler' | 'iterable';

/** What a state says of its loader. */
export type OrderFacts = Pick<DataLoaderState, 'kind' | 'samples' | 'batchSize'>;

const KINDS: Readonly<Record<OrderKind, string>> = {
  random: 'a random order',
  sequential: 'the order of the indices',
  sampler: 'a sampler of the program',
  iterable: 'a dataset that is read in order',
};

/**
 * Refuses a state of another order: the loader would continue with other samples than those that are missing. `hasCursor`: the
 * dataset continues by itself.
 */
function demandSameOrder(state: OrderFacts & { position: number }, own: OrderFacts, hasCursor: boolean): void {
  const refuse = (name: keyof OrderFacts, expected: string, got: string) =>
    refusal(FN, `state.${name}`, `${expected}, as this loader has`, got);
  if (state.kind !== own.kind) throw refuse('kind', `'${own.kind}' (${KINDS[own.kind]})`, `'${state.kind}'`);
  if (state.position === 0) return;
  if (own.kind === 'random' && state.samples !== own.samples) {
    throw refuse('samples', String(own.samples), String(state.samples));
  }
  // Batches are counted where the place in the order is not known.
  if (own.samples === null && !hasCursor && state.batchSize !== own.batchSize) {
    throw refuse('batchSize', String(own.batchSize), String(state.batchSize));
  }
}

/** One pass over the dataset. */
export class PassProgress {
  position: number;
  mark: Mark | null = null;
  ended: boolean;
  /** The dataset's cursor after the last batch, if a worker reads it. */
  cursor: { readonly value: unknown } | null = null;
  #read: Pick<PassProgress, 'mark' | 'ended' | 'cursor'> | null = null;

  constructor(
    readonly epoch: number,
    readonly seed: bigint,
    readonly resumed: DataLoaderState | null,
    /** The states of the generators as the pass began: an order that was drawn since then is drawn again. */
    readonly begun: readonly string[],
    readonly onFinish: () => void,
  ) {
    this.position = resumed?.position ?? 0;
    this.ended = resumed?.ended ?? false;
  }

  /** A batch was read. `ended`: the dataset's iterator has no sample after it. */
  advance(mark: Mark | null, ended = false, cursor: PassProgress['cursor'] = null): void {
    this.#read = { mark, ended, cursor };
  }

  /** The batch that was read goes to the program. One that comes after the pass was aborted does not. */
  give(): void {
    if (this.#read === null) return;
    this.position++;
    Object.assign(this, this.#read);
    this.#read = null;
  }

  finish(): void {
    this.onFinish();
  }
}

interface Stateful {
  stateDict(): unknown;
  loadStateDict?(state: unknown): unknown;
}
export const isStateful = (dataset: unknown): dataset is Stateful =>
  typeof (dataset as Stateful | null | undefined)?.stateDict === 'function';

export const statesOf = (generators: readonly Generator[], mark: Mark | null = null): string[] =>
  generators.map((generator) => toBase64(stateAt(mark, generator)));

/** The state of a pass. */
export function stateOfPass(
  progress: PassProgress,
  generators: readonly Generator[],
  dataset: unknown,
  facts: OrderFacts,
): DataLoaderState {
  const { mark, resumed } = progress;
  const started = progress.position > 0;
  const gave = progress.position > (resumed?.position ?? 0);
  const order =
    mark === null
      ? (resumed?.order ?? null)
      : {
          chunk: mark.draw.number,
          offset: mark.offset,
          random: mark.draw.before === null ? null : toBase64(mark.draw.before),
        };
  return {
    epoch: progress.epoch,
    position: progress.position,
    seed: String(progress.seed),
    order: started ? order : null,
    generators: gave ? statesOf(generators, mark) : [...progress.begun],
    ended: progress.ended,
    ...facts,
    ...cursorOf(dataset, progress.cursor),
  };
}

/** The state between passes. */
export function stateBetween(
  epoch: number,
  generators: readonly Generator[],
  dataset: unknown,
  facts: OrderFacts,
): DataLoaderState {
  return {
    epoch,
    position: 0,
    seed: null,
    order: null,
    generators: statesOf(generators),
    ended: false,
    ...facts,
    ...cursorOf(dataset, null),
  };
}

function cursorOf(dataset: unknown, read: PassProgress['cursor']): { dataset?: unknown } {
  if (read !== null) return { dataset: read.value };
  return isStateful(dataset) ? { dataset: dataset.stateDict() } : {};
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The facts of a state; undefined for one of a version that did not write them. */
function factsOf({ kind, samples, batchSize }: Record<string, unknown>): OrderFacts | undefined {
  if (kind === undefined && samples === undefined && batchSize === undefined) return undefined;
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    throw argumentError(FN, 'state.kind', `one of ${Object.keys(KINDS).join(', ')}`, kind);
  }
  if (samples !== null && !isCount(samples)) throw argumentError(FN, 'state.samples', 'an integer or null', samples);
  if (batchSize !== null && !isCount(batchSize)) {
    throw argumentError(FN, 'state.batchSize', 'an integer or null', batchSize);
  }
  return { kind: kind as OrderKind, samples, batchSize };
}

/** A copy of a state, checked. */
export function readState(
  given: unknown,
  generators: readonly Generator[],
  own: OrderFacts,
  hasCursor: boolean,
): DataLoaderState {
  if (!isPlainObject(given)) throw argumentError(FN, 'state', 'an object of loader.stateDict()', given);
  const { epoch, position, seed, order, generators: states, ended } = given;
  if (!isCount(epoch)) throw argumentError(FN, 'state.epoch', 'an integer of 0 or more', epoch);
  if (!isCount(position)) throw argumentError(FN, 'state.position', 'an integer of 0 or more', position);
  if (seed !== null && (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed))) {
    throw argumentError(FN, 'state.seed', 'a string of digits, or null', seed);
  }
  const facts = factsOf(given) ?? own;
  demandSameOrder({ ...facts, position }, own, hasCursor);
  if (!Array.isArray(states) || states.length !== generators.length) {
    throw argumentError(FN, 'state.generators', `the states of ${generators.length} generators`, states);
  }
  if (typeof ended !== 'boolean') throw argumentError(FN, 'state.ended', 'a boolean', ended);
  return {
    epoch,
    position,
    seed,
    ended,
    order: orderOf(order),
    ...facts,
    generators: states.map((state) => toBase64(fromBase64(FN, state))),
    ...('dataset' in given ? { dataset: given.dataset } : {}),
  };
}

function orderOf(given: unknown): DataLoaderState['order'] {
  if (given === null) return null;
  const { chunk, offset, random } = (isPlainObject(given) ? given : {}) as Record<string, unknown>;
  if (!isCount(chunk) || !isCount(offset))
    throw argumentError(FN, 'state.order', 'a chunk and an offset, or null', given);
  return { chunk, offset, random: random === null ? null : toBase64(fromBase64(FN, random)) };
}

/** Sets the generators as they were. */
export function restoreGenerators(state: DataLoaderState, generators: readonly Generator[]): void {
  generators.forEach((generator, i) => {
    setState(generator, fromBase64(FN, state.generators[i]));
  });
}

export function resumeOf(state: DataLoaderState | null): Resume | null {
  if (state === null || state.position === 0) return null;
  const { order, position } = state;
  if (order === null) return { batches: position, start: null, offset: 0 };
  const random = order.random === null ? null : fromBase64(FN, order.random);
  return { batches: position, start: { chunk: order.chunk, random }, offset: order.offset };
}
