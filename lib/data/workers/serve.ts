/** What a worker does: it makes the dataset, and answers each request for a batch. */
import { parentPort } from 'node:worker_threads';
import { disposeAll } from '../../lifetimes/movable';
import { scope } from '../../lifetimes/scope';
import { Fetcher, isPromise } from '../fetch';
import { END, StreamSource } from '../local';
import { Listed } from '../order';
import { isStateful } from '../progress';
import { Cell, type FromWorker, type ToWorker, type WorkerData } from './messages';
import { type Packed, pack } from './packed';
import { datasetOf, disposeOwned, type Recipe } from './recipe';

type Open = Extract<ToWorker, { type: 'open' }>;
type Fetch = Extract<ToWorker, { type: 'fetch' }>;

const port = parentPort!;
const post = (message: FromWorker): void => port.postMessage(message);

/** What is posted of an error: a clone keeps its message and stack. */
function postError(pass: number, id: number | null, index: number, error: unknown): void {
  try {
    post({ type: 'error', pass, id, index, error });
  } catch {
    // It has properties that cannot be cloned.
    const { message, stack, name } = Object(error) as Error;
    const copy = Object.assign(new Error(message ?? String(error)), { name: name ?? 'Error' });
    copy.stack = stack ?? String(error);
    post({ type: 'error', pass, id, index, error: copy });
  }
}

/** One pass in this worker. */
interface Pass {
  answer(request: Fetch): Promise<void>;
}

/** Batches by index. */
function indexed(dataset: any, open: Open, cells: Float64Array): Pass {
  const note = (index: number): void => {
    cells[Cell.Index] = index;
  };
  const fetcher = new Fetcher(dataset, { batched: open.batched, collate: open.collate ? null : false }, note);
  return {
    async answer({ pass, id, indices }) {
      // The inner scope of `fetch` moves the batch to this one, which ends once the batch is shared.
      const packed = await scope((): Packed | Promise<Packed> => {
        const batch = fetcher.batch(new Listed(indices!), open);
        return isPromise(batch) ? Promise.resolve(batch).then(pack) : pack(batch);
      });
      post({ type: 'batch', pass, id, packed, cursor: null, ended: false });
    },
  };
}

/** Batches of a dataset that is read in order. */
function inOrder(dataset: any, open: Open, cells: Float64Array): Pass {
  const { size, dropLast, skip, cursor, ended } = open.stream!;
  if (cursor !== null && isStateful(dataset)) dataset.loadStateDict?.(cursor.value);
  const progress = { ended, advance: () => {} };
  const form = { batched: open.batched, collate: open.collate ? null : (false as const) };
  const source = new StreamSource(dataset, form, size, dropLast, skip, progress, false);
  let read = 0;
  return {
    async answer({ pass, id }) {
      cells[Cell.Index] = read;
      const batch = await source.next();
      if (batch === END) return post({ type: 'over', pass, id });
      read += size;
      const packed = pack(batch);
      // Those of a collated batch are new; others may still be the dataset's.
      if (open.batched && open.collate) disposeAll(batch);
      const at = isStateful(dataset) ? { value: dataset.stateDict() } : null;
      post({ type: 'batch', pass, id, packed, cursor: at, ended: progress.ended });
    },
  };
}

export function serve({ cells: shared }: WorkerData): void {
  const cells = new Float64Array(shared);
  process.once('exit', () => {
    cells[Cell.Exited] = 1; // not when the thread is terminated
  });
  let work: Promise<void> = Promise.resolve();
  let current: Pass | null = null;
  let ending = -1;
  /** Tensors that the datasets of torch.utils.data take for one pass. */
  const owned: unknown[] = [];
  /** The dataset of a module, which stays until the recipe changes. */
  let made: { readonly key: string; readonly dataset: unknown } | null = null;

  async function datasetFor(recipe: Recipe): Promise<unknown> {
    if (recipe.kind !== 'made') return datasetOf(recipe, owned);
    const key = JSON.stringify([recipe.module, recipe.name]);
    if (made?.key !== key) made = { key, dataset: await datasetOf(recipe, []) };
    return made.dataset;
  }

  async function handle(message: ToWorker): Promise<void> {
    try {
      if (message.type === 'open') {
        const dataset = await datasetFor(message.recipe);
        current = (message.stream === null ? indexed : inOrder)(dataset, message, cells);
      } else if (message.type === 'end') {
        current = null;
        disposeOwned(owned);
        post({ type: 'ended', pass: message.pass });
      } else if (message.pass !== ending) await current?.answer(message);
    } catch (error) {
      postError(message.pass, message.type === 'fetch' ? message.id : null, cells[Cell.Index]!, error);
    }
  }

  port.on('message', (message: ToWorker) => {
    if (message.type === 'end') ending = message.pass; // what waits before it is left out
    work = work.then(() => handle(message));
  });
}
