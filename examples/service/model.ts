/** A TorchScript model of digits: loaded, tried, and run off the event loop. */
import { createHash } from 'node:crypto';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import { ModelRefused } from './failures';
import { SIDE } from './input';

export const CLASSES = 10;

/** A model file's content, and a short hash of it, by which answers say which model they are of. */
export interface ModelFile {
  bytes: Uint8Array;
  version: string;
}

export const versionOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 12);

export interface Model {
  readonly version: string;
  /** [n, 1, 28, 28] to [n, 10], on a thread of torch's pool. The result belongs to the caller's scope. */
  forward(images: Tensor): Promise<Tensor>;
  /** A call under way ends as if nothing had happened, and the memory goes with the last one. */
  dispose(): void;
}

/** @throws ModelRefused for what is no model, or is none of digits */
export async function loadModel({ bytes, version }: ModelFile): Promise<Model> {
  let script: torch.ScriptModule | undefined;
  try {
    // Outside every scope it would be the collector's; it is ours, until dispose().
    script = torch.keep(torch.jit.load(bytes));
    script.eval();
    const model = modelOf(script, version);
    await tryOut(model);
    return model;
  } catch (error) {
    script?.dispose();
    throw error instanceof ModelRefused ? error : new ModelRefused((error as Error).message.split('\n')[0]);
  }
}

function modelOf(script: torch.ScriptModule, version: string): Model {
  return {
    version,
    forward(images) {
      let result: Promise<Tensor>;
      torch.noGrad(() => {
        result = script.async.forward(images);
      });
      return result!;
    },
    dispose: () => script.dispose(),
  };
}

/** One image, before the first request may get to it: a file can be sound and still hold something else. */
async function tryOut(model: Model): Promise<void> {
  await torch.scope(async () => {
    const answer: unknown = await model.forward(torch.zeros([1, 1, SIDE, SIDE]));
    if (!(answer instanceof torch.Tensor)) throw new ModelRefused('a trial image gave no tensor');
    const shape = answer.shape.join();
    if (shape !== `1,${CLASSES}` || answer.dtype !== 'float32') {
      throw new ModelRefused(`a trial image gave ${answer.dtype}[${shape}] instead of float32[1,${CLASSES}]`);
    }
    if (!answer.isfinite().all().item()) throw new ModelRefused('a trial image gave values that are not finite');
  });
}
