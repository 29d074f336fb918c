/** The messages between a loader and its workers. */
import type { PostedError } from './errors';
import type { Packed } from './packed';
import type { Recipe } from './recipe';

/** The cells that a worker shares with the loader, so that they can be read once it has ended. */
export const Cell = { Index: 0, Ending: 1, Count: 2 } as const;

/** How a worker ended, if it was not terminated: the place is the value of `Cell.Ending`. */
export const ENDINGS = [
  null,
  'the worker called process.exit',
  "the worker's parentPort was closed or unref'd",
] as const;
export const Ending = { Exit: 1, Port: 2 } as const;

export interface WorkerData {
  /** The path of the library. */
  readonly library: string;
  readonly cells: SharedArrayBuffer;
}

/** Of a dataset that is read in order. */
export interface StreamForm {
  readonly size: number;
  readonly dropLast: boolean;
  readonly skip: number;
  /** The number of the sample that the iterator gives first: the cursor leaves out those before it. */
  readonly first: number;
  readonly cursor: { readonly value: unknown } | null;
  readonly ended: boolean;
}

export type ToWorker =
  | {
      readonly type: 'open';
      readonly pass: number;
      readonly recipe: Recipe;
      readonly batched: boolean;
      readonly collate: boolean;
      readonly seed: bigint;
      readonly epoch: number;
      readonly stream: StreamForm | null;
    }
  /** Without indices: the next batch of a dataset that is read in order. */
  | { readonly type: 'fetch'; readonly pass: number; readonly id: number; readonly indices: number[] | null }
  | { readonly type: 'end'; readonly pass: number };

export type FromWorker =
  | {
      readonly type: 'batch';
      readonly pass: number;
      readonly id: number;
      readonly packed: Packed;
      /** Of a dataset that is read in order: its cursor after the batch, and whether it has ended. */
      readonly cursor: { readonly value: unknown } | null;
      readonly ended: boolean;
    }
  /** The dataset has ended: there is no such batch. */
  | { readonly type: 'over'; readonly pass: number; readonly id: number }
  /** `id` null: the dataset could not be made. */
  | {
      readonly type: 'error';
      readonly pass: number;
      readonly id: number | null;
      readonly index: number;
      readonly error: PostedError;
    }
  /** `error`: of the dataset's iterator, which is closed. */
  | { readonly type: 'ended'; readonly pass: number; readonly error: PostedError | null };
