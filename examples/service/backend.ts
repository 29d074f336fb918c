/** Where batches are run: in this process (local.ts) or in others (workers.ts). */
import type { Tensor } from 'libtorch-node';
import type { ModelFile } from './model';

export interface Backend {
  /** Takes this model from the next batch on. @throws ModelRefused, and what was loaded before stays */
  load(file: ModelFile): Promise<void>;
  /** Batches that it can run at the same time, now. */
  slots(): number;
  /** The images' probabilities, and the model that gave them. The result belongs to the caller's scope. */
  infer(images: Tensor): Promise<Inferred>;
  status(): WorkerStatus[];
  close(): Promise<void>;
}

export interface Inferred {
  probabilities: Tensor;
  version: string;
}

/** A process that runs the model beside this one. */
export interface WorkerStatus {
  pid: number | undefined;
  ready: boolean;
  /** How often it had to be started again. */
  restarts: number;
  /** What its tensors hold, as it said last. */
  memory: WorkerMemory | undefined;
}

export interface WorkerMemory {
  tensors: number;
  bytes: number;
}
