/**
 * Runs the model in supervised worker processes. A worker that ends is restarted with the last good model, and its requests
 * are answered with 503. They are not retried on another worker: an input that crashes one process would crash all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import type { Backend, Inferred, WorkerMemory, WorkerStatus } from './backend';
import { ModelRefused, Unavailable } from './failures';
import type { WorkerSettings } from './messages';
import type { ModelFile } from './model';
import { WorkerProcess } from './worker-process';

/** The first restart is immediate. While workers die young, the waits double: 200 ms, 400 ms, … */
const BASE_WAIT_MS = 100;
const MAX_WAIT_MS = 5000;
const YOUNG_MS = 10_000;

/** The slot of a worker, which outlives the processes in it. */
interface Place {
  process: WorkerProcess;
  ready: boolean;
  busy: boolean;
  restarts: number;
  memory: WorkerMemory | undefined;
}

export class Workers implements Backend {
  readonly #settings: WorkerSettings;
  readonly #places: Place[];
  #model: ModelFile | undefined;
  #closing = false;

  /** `onReady` is called when a worker becomes able to take batches. */
  constructor(
    count: number,
    settings: WorkerSettings,
    readonly onReady: () => void,
  ) {
    this.#settings = settings;
    this.#places = Array.from({ length: count }, () => {
      const place = {
        process: new WorkerProcess(settings),
        ready: false,
        busy: false,
        restarts: 0,
        memory: undefined,
      };
      void this.#supervise(place);
      return place;
    });
  }

  /** One worker tests the file first: if the file crashes it, the worker restarts with the previous model. */
  async load(file: ModelFile): Promise<void> {
    const first = this.#model === undefined ? this.#places[0] : this.#places.find(({ ready }) => ready);
    if (first === undefined) throw new Unavailable('WORKER_GONE', 'no worker is ready');
    try {
      await first.process.ask('load', file);
    } catch (error) {
      throw error instanceof Unavailable
        ? new ModelRefused(`the model file ended the worker: ${error.message}`)
        : error;
    }
    this.#model = file;
    this.#open(first);
    await Promise.all(
      this.#places.map(async (place) => {
        if (place === first) return;
        const { process } = place;
        try {
          await process.ask('load', file);
          this.#open(place);
        } catch (error) {
          // The first worker accepted the file, so this one restarts and loads it then.
          console.error(`worker ${process.pid} did not take model ${file.version}: ${(error as Error).message}`);
          process.kill();
        }
      }),
    );
  }

  slots(): number {
    return this.#places.filter(({ ready }) => ready).length;
  }

  async infer(images: Tensor): Promise<Inferred> {
    const place = this.#places.find(({ ready, busy }) => ready && !busy);
    if (place === undefined) throw new Unavailable('WORKER_GONE', 'no worker is ready');
    const { process } = place;
    place.busy = true;
    try {
      const floats = { data: images.toTypedArray() as Float32Array, shape: images.shape };
      const { data, shape, version } = await process.ask('infer', floats);
      return { probabilities: torch.fromTypedArray(data, shape), version };
    } finally {
      if (place.process === process) place.busy = false;
    }
  }

  status(): WorkerStatus[] {
    return this.#places.map(({ process, ready, restarts, memory }) => ({ pid: process.pid, ready, restarts, memory }));
  }

  /** Asks every worker for the memory of its tensors. */
  async measure(): Promise<WorkerStatus[]> {
    await Promise.all(
      this.#places.map(async (place) => {
        place.memory = place.ready ? await place.process.ask('memory', null).catch(() => undefined) : undefined;
      }),
    );
    return this.status();
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.#places.map(({ process }) => process.close()));
  }

  #open(place: Place): void {
    place.ready = true;
    this.onReady();
  }

  async #supervise(place: Place): Promise<void> {
    for (let wait = 0; ; ) {
      const start = performance.now();
      const how = await place.process.ended;
      place.ready = false;
      if (this.#closing) return;
      console.error(`worker ${place.process.pid} ended (${how}); another takes its place`);
      wait = performance.now() - start > YOUNG_MS ? 0 : Math.min(MAX_WAIT_MS, Math.max(BASE_WAIT_MS, 2 * wait));
      if (wait > BASE_WAIT_MS) await sleep(wait, undefined, { ref: false });
      if (this.#closing) return;
      place.process = new WorkerProcess(this.#settings);
      place.busy = false;
      place.restarts++;
      const { process } = place;
      const model = this.#model;
      if (model === undefined) continue; // load() is in progress or will be called
      process.ask('load', model).then(
        () => this.#open(place),
        (error: Error) => {
          console.error(`worker ${process.pid} did not load model ${model.version}: ${error.message}`);
          process.kill();
        },
      );
    }
  }
}
