/** What the service and its workers say to each other, over Node's channel between processes. */
import type { WorkerMemory } from './backend';
import type { ModelFile } from './model';

/** Settings of a worker, in its environment. */
export interface WorkerSettings {
  memoryLimitMb: number;
}

/** A batch as plain memory: tensors stay in their process. */
export interface Floats {
  data: Float32Array;
  shape: number[];
}

/** What can be asked: the question's content, and that of its answer. */
export interface Questions {
  load: { content: ModelFile; answer: null };
  infer: { content: Floats; answer: Floats & { version: string } };
  memory: { content: null; answer: WorkerMemory };
}

export type Subject = keyof Questions;

export type Question = {
  [S in Subject]: { id: number; subject: S; content: Questions[S]['content'] };
}[Subject];

/** `code` and `message` stand for an error. */
export type Reply = { id: number; answer: unknown } | { id: number; code: string; message: string };
