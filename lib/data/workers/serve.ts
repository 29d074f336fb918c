/** What a worker does: it makes the dataset, and answers each request for a batch. */
import { parentPort } from 'node:worker_threads';
import { native } from '../../addon/native';
import { disposeAll } from '../../lifetimes/movable';
import { scope } from '../../lifetimes/scope';
import { Fetcher } from '../fetch';
import { END, StreamSource } from '../local';
import { Listed } from '../order';
import { isStateful } from '../progress';
import { isPromise } from '../read-each';
import { copyOf, type PostedError, posted } from './errors';
import { Cell, Ending, type FromWorker, type ToWorker, type WorkerData } from './messages';
import { discard, type Packed, pack } from './packed';
import { setServing } from './pool';
import { datasetOf, demandMade, disposeOwned, type Recipe } from './recipe';

type Open = Extract<ToWorker, { type: 'open' }>;
type Fetch = Extract<ToWorker, { type: 'fetch' }>;

/** After this time without a request a worker is idle: longer than the pauses between requests in a pass that goes on. */
const IDLE_MS = 100;
/** The least time between two trims, each of which takes tens of milliseconds and holds locks of malloc. */
const REST_MS = 2_000;

const port = parentPort!;
const post = (message: FromWorker): void => port.postMessage(message);

/** Posts an error, or a copy if it has values that cannot be cloned. */
function postError(error: unknown, message: (error: PostedError) => FromWorker): void {
  try {
    post(message(posted(error)));
  } catch {
    post(message(posted(error, copyOf)));
  }
}

/** Posts a batch. Its tokens are released if it has values that cannot be cloned. */
function postBatch(message: Extract<FromWorker, { type: 'batch' }>): void {
  let isPosted = false;
  try {
    post(message);
    isPosted = true;
  } finally {
    if (!isPosted) discard(message.packed);
  }
}

/** One pass in this worker. */
interface Pass {
  answer(request: Fetch): Promise<void>;
  close(): unknown;
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
      postBatch({ type: 'batch', pass, id, packed, cursor: null, ended: false });
    },
    close: () => {},
  };
}

/** Batches of a dataset that is read in order. */
function inOrder(dataset: any, open: Open, cells: Float64Array): Pass {
  const { size, dropLast, skip, cursor, ended } = open.stream!;
  if (cursor !== null && isStateful(dataset)) dataset.loadStateDict?.(cursor.value);
  const read: { ended: boolean; cursor: { readonly value: unknown } | null } = { ended, cursor: null };
  const advance = (_mark: unknown, over = false, at: typeof read.cursor = null) => {
    Object.assign(read, { ended: over, cursor: at });
  };
  const form = { batched: open.batched, collate: open.collate ? null : (false as const) };
  const note = (index: number): void => {
    cells[Cell.Index] = index;
  };
  const source = new StreamSource(
    dataset,
    form,
    size,
    dropLast,
    skip,
    { ended, advance },
    false,
    note,
    open.stream!.first,
  );
  return {
    async answer({ pass, id }) {
      const batch = await source.next();
      if (batch === END) return post({ type: 'over', pass, id });
      const packed = pack(batch);
      // Those of a collated batch are new; others may still be the dataset's.
      if (open.batched && open.collate) disposeAll(batch);
      postBatch({ type: 'batch', pass, id, packed, cursor: read.cursor, ended: read.ended });
    },
    close: () => source.end(),
  };
}

/** `owned`: tensors that the datasets of torch.utils.data take for this pass. */
interface Opened {
  readonly pass: Pass;
  readonly owned: unknown[];
}

class Server {
  readonly #cells: Float64Array;
  readonly #passes = new Map<number, Opened>();
  /** Passes that end: what waits before the end is left out. */
  readonly #ending = new Set<number>();
  readonly #trimmer = new Trimmer();
  /** The dataset of a module, which stays until the recipe changes. */
  #made: { readonly key: string; readonly dataset: unknown } | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(cells: Float64Array) {
    this.#cells = cells;
  }

  /** Messages are handled one after the other. */
  receive(message: ToWorker): void {
    if (message.type === 'end') this.#ending.add(message.pass);
    this.#work = this.#work.then(() => this.#handle(message)).then(() => this.#trimmer.rest());
  }

  async #handle(message: ToWorker): Promise<void> {
    const { type, pass } = message;
    if (type === 'end') return this.#end(pass);
    if (this.#ending.has(pass)) return;
    try {
      if (type === 'open') await this.#open(message);
      else await this.#passes.get(pass)?.pass.answer(message);
    } catch (error) {
      const id = type === 'fetch' ? message.id : null;
      const index = this.#cells[Cell.Index]!;
      postError(error, (value) => ({ type: 'error', pass, id, index, error: value }));
    }
  }

  async #open(message: Open): Promise<void> {
    const owned: unknown[] = [];
    try {
      const dataset = demandMade(
        message.recipe,
        await this.#datasetFor(message.recipe, owned),
        message.stream === null,
      );
      const pass = (message.stream === null ? indexed : inOrder)(dataset, message, this.#cells);
      this.#passes.set(message.pass, { pass, owned });
    } catch (error) {
      disposeOwned(owned);
      throw error;
    }
  }

  async #datasetFor(recipe: Recipe, owned: unknown[]): Promise<unknown> {
    if (recipe.kind !== 'made') return datasetOf(recipe, owned);
    const key = JSON.stringify([recipe.module, recipe.name]);
    if (this.#made?.key !== key) this.#made = { key, dataset: await datasetOf(recipe, []) };
    return this.#made.dataset;
  }

  async #end(pass: number): Promise<void> {
    const opened = this.#passes.get(pass);
    this.#passes.delete(pass);
    this.#ending.delete(pass);
    let wrong: { readonly error: unknown } | null = null;
    try {
      await opened?.pass.close();
    } catch (error) {
      wrong = { error };
    }
    if (opened !== undefined) disposeOwned(opened.owned);
    if (wrong === null) post({ type: 'ended', pass, error: null });
    else postError(wrong.error, (value) => ({ type: 'ended', pass, error: value }));
  }
}

/** A worker that waits has read as far ahead as it may: its freed samples must not count beside the batches. */
class Trimmer {
  #idle: NodeJS.Timeout | null = null;
  #trimmedAt = Number.NEGATIVE_INFINITY;

  /** Call it after each message. */
  rest(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    const pause = this.#trimmedAt + REST_MS - performance.now();
    this.#idle = setTimeout(() => this.#trim(), Math.max(IDLE_MS, pause)).unref();
  }

  #trim(): void {
    native.trimMemory();
    this.#trimmedAt = performance.now();
  }
}

export function serve({ cells: shared }: WorkerData): void {
  setServing();
  const cells = new Float64Array(shared);
  const endsBy = (ending: number) => () => {
    cells[Cell.Ending] ||= ending;
  };
  process.once('exit', endsBy(Ending.Exit)); // not when the thread is terminated
  process.once('beforeExit', endsBy(Ending.Port)); // the port keeps the thread running
  port.once('close', () => {
    endsBy(Ending.Port)();
    process.exit(); // no answer can be posted, whatever else keeps the thread running
  });
  const server = new Server(cells);
  port.on('message', (message: ToWorker) => server.receive(message));
}
