/** The model in this process. */
import { pathToFileURL } from 'node:url';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import type { Backend, Inferred } from './backend';
import { type LoadSettings, loadModel, type Model, type ModelFile } from './model';

export class LocalBackend implements Backend {
  #model: Model | undefined;

  /**
   * Each batch uses one thread and several run at once, because small products gain little from more threads. Small models run
   * on the event loop (choose.ts).
   * `loader`: the module whose `loadModel` loads models; by default model.ts.
   */
  constructor(
    readonly threads: number,
    readonly settings: LoadSettings,
  ) {
    torch.setNumThreads(1);
    torch.asyncPool.threads = threads;
  }

  async load(file: ModelFile): Promise<void> {
    const next = await (await this.#loadModel())(file, this.settings);
    this.#model?.dispose();
    this.#model = next;
  }

  async #loadModel(): Promise<typeof loadModel> {
    const { loader } = this.settings;
    if (loader === undefined) return loadModel;
    return ((await import(pathToFileURL(loader).href)) as { loadModel: typeof loadModel }).loadModel;
  }

  slots(): number {
    return this.#model === undefined ? 0 : this.threads;
  }

  infer(images: Tensor): Promise<Inferred> | Inferred {
    const { version, forward } = this.#model!;
    const result = forward(images);
    return result instanceof Promise
      ? result.then((probabilities) => ({ probabilities, version }))
      : { probabilities: result, version };
  }

  status(): [] {
    return [];
  }

  close(): Promise<void> {
    this.#model?.dispose();
    this.#model = undefined;
    return Promise.resolve();
  }
}
