/** Requests the heaps of a running process, one thread at a time, so that the process never pauses completely. */
import * as fs from 'node:fs';
import type { Connection } from '../attach/connection';
import { list, text, whole } from '../capture/fields';
import { UsageError } from '../errors/errors';
import { printError } from '../terminal/writers';
import { type AnalystOptions, analyseHeap } from './analyst';
import type { Answer } from './holder';
import { openPrivate } from './private-file';

const MAX_THREADS = 4096;
/** Time between checks whether a thread has written its snapshot. */
const POLL_MS = 50;
/** Timeout for a thread that does not return to its event loop. */
const TIMEOUT_MS = 20_000;

export interface Asked {
  answers: Answer[];
  /** Reasons of the threads that did not answer. */
  silent: string[];
}

export async function askWhy(connection: Connection, options: AnalystOptions): Promise<Asked> {
  const { threads } = await connection.ask('threads');
  const numbers = list(threads, 'threads', MAX_THREADS).map((one, i) => whole(one, `threads[${i}]`, 2 ** 32));
  if (numbers.length === 0) throw new UsageError(`process ${connection.pid} has no thread with libtorch-node`);
  const asked: Asked = { answers: [], silent: [] };
  for (const thread of numbers) {
    try {
      asked.answers.push(await askThread(connection, thread, options));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      if (numbers.length === 1) throw error;
      asked.silent.push(error.message);
    }
  }
  if (asked.answers.length === 0) throw new UsageError(asked.silent[0]!);
  return asked;
}

async function askThread(connection: Connection, thread: number, options: AnalystOptions): Promise<Answer> {
  const snapshot = openPrivate();
  let facts: number | undefined;
  try {
    facts = openPrivate();
    await connection.ask('heap', { thread, fd: snapshot, facts });
    try {
      await written(connection, thread);
    } catch (error) {
      // A process that has ended meanwhile may have written its heap before; the facts come last.
      if (fs.fstatSync(facts).size === 0) throw error;
    }
    return await analyseHeap(snapshot, facts, options);
  } finally {
    fs.closeSync(snapshot);
    if (facts !== undefined) fs.closeSync(facts);
  }
}

/** Waits until the thread has written both files. */
async function written(connection: Connection, thread: number): Promise<void> {
  const since = performance.now();
  for (;;) {
    const answer = await connection.ask('heap-state', { thread });
    const state = text(answer.state, 'state');
    if (state === 'done') return;
    if (state === 'waiting' && performance.now() - since > TIMEOUT_MS)
      throw new UsageError(
        `process ${connection.pid}: a thread did not return to its event loop for ${TIMEOUT_MS / 1000} s, so its heap could not be written`,
      );
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Reports the pauses on stderr. */
export function printPauses(answers: readonly Answer[], pid: number): void {
  for (const { thread, pausedMs } of answers)
    printError(
      `leak-audit: ${thread === 0 ? 'the main thread' : `worker ${thread}`} of process ${pid} paused for ${Math.ceil(pausedMs)} ms\n`,
    );
}
