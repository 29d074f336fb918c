/** Runs batches: in this process (local.ts) or in others (workers.ts). */
import type { Tensor } from 'libtorch-node';
import type { ModelFile } from './model';

export interface Backend {
  /** Uses this model from the next batch on. @throws ModelRefused, and keeps the model that was loaded before */
  load(file: ModelFile): Promise<void>;
  /** How many batches it can currently run at the same time. */
  slots(): number;
  /** The images' probabilities, and the model that computed them; at once for a small model. The result belongs to the caller's scope. */
  infer(images: Tensor): Promise<Inferred> | Inferred;
  status(): WorkerStatus[];
  close(): Promise<void>;
}

export interface Inferred {
  probabilities: Tensor;
  version: string;
}

/** A worker process that runs the model. */
export interface WorkerStatus {
  pid: number | undefined;
  ready: boolean;
  /** How often it has been restarted. */
  restarts: number;
  /** The memory of its tensors, as last reported. */
  memory: WorkerMemory | undefined;
}

export interface WorkerMemory {
  tensors: number;
  bytes: number;
}
