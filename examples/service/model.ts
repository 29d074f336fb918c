/** Loads and tests a TorchScript model of digits, and runs it off the event loop. */
import { createHash } from 'node:crypto';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import { type Choice, choose } from './choose';
import { ModelRefused } from './failures';
import { SIDE } from './input';

export const CLASSES = 10;

/** A model file's content and a short hash of it, which answers use to identify the model. */
export interface ModelFile {
  bytes: Uint8Array;
  version: string;
}

export const versionOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 12);

export interface Model {
  readonly version: string;
  /** [n, 1, 28, 28] to [n, 10], on a thread of torch's pool, or at once if that takes less. The result belongs to the caller's scope. */
  forward(images: Tensor): Promise<Tensor> | Tensor;
  /** Calls in progress finish normally, and the last one frees the memory. */
  dispose(): void;
}

export interface LoadSettings {
  /** The module whose `loadModel` loads models; undefined: this one. */
  loader?: string | undefined;
  /** Whether the model runs as it was scripted, without a choice. */
  scripted: boolean;
  /** Whether every batch runs on a thread of torch's pool, without measuring whether the event loop would take less. */
  offLoop: boolean;
}

/** @throws ModelRefused for a file that is not a model, or not one of digits */
export async function loadModel({ bytes, version }: ModelFile, { scripted, offLoop }: LoadSettings): Promise<Model> {
  let script: torch.ScriptModule | undefined;
  try {
    // Loaded outside every scope and owned by us until dispose(), not by the collector.
    script = torch.keep(torch.jit.load(bytes));
    script.eval();
    const model = modelOf(script, version);
    await tryOut(model); // before it is measured
    if (scripted) return model;
    const choice = await choose(script, { offLoop });
    console.log(`model ${version} runs ${choice.why}`);
    return modelOf(script, version, choice);
  } catch (error) {
    script?.dispose();
    throw error instanceof ModelRefused ? error : new ModelRefused((error as Error).message.split('\n')[0]);
  }
}

function modelOf(script: torch.ScriptModule, version: string, choice?: Choice): Model {
  const optimised = choice?.optimised;
  return {
    version,
    forward(images) {
      const size = images.shape[0]!;
      const model = optimised !== undefined && size >= choice!.from ? optimised : script;
      const isShort = size <= (choice?.onLoop ?? 0);
      // libtorch 2.6 runs optimised models in this mode only. It is set when the call begins.
      let result: Promise<Tensor> | Tensor;
      torch.inferenceMode(() => {
        result = isShort ? model.forward(images) : model.async.forward(images);
      });
      return result!;
    },
    dispose() {
      script.dispose();
      optimised?.dispose();
    },
  };
}

/** Tests the model with one image before it gets requests, because an intact file can still hold another model. */
export async function tryOut(model: Model): Promise<void> {
  await torch.scope(async () => {
    const answer: unknown = await model.forward(torch.zeros([1, 1, SIDE, SIDE]));
    if (!(answer instanceof torch.Tensor)) throw new ModelRefused('a trial image did not give a tensor');
    const shape = answer.shape.join();
    if (shape !== `1,${CLASSES}` || answer.dtype !== 'float32') {
      throw new ModelRefused(`a trial image gave ${answer.dtype}[${shape}] instead of float32[1,${CLASSES}]`);
    }
    if (!answer.isfinite().all().item()) throw new ModelRefused('a trial image gave values that are not finite');
  });
}
