/** The messages between the service and its workers, over Node's IPC channel. */
import type { WorkerMemory } from './backend';
import type { LoadSettings, ModelFile } from './model';

/** A worker's settings, in its environment. */
export interface WorkerSettings extends LoadSettings {
  memoryLimitMb: number;
}

/** A batch as plain memory: tensors stay in their process. */
export interface Floats {
  data: Float32Array;
  shape: number[];
}

/** The questions: the content of each and of its answer. */
export interface Questions {
  load: { content: ModelFile; answer: null };
  infer: { content: Floats; answer: Floats & { version: string } };
  memory: { content: null; answer: WorkerMemory };
}

export type Subject = keyof Questions;

export type Question = {
  [S in Subject]: { id: number; subject: S; content: Questions[S]['content'] };
}[Subject];

/** `code` and `message` represent an error. */
export type Reply = { id: number; answer: unknown } | { id: number; code: string; message: string };
