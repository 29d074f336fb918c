/** The second addon: loaded when torch.distributed is first used, so that other programs never load Gloo. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type { Signal } from '../../types/base';
import { addonFile, native } from '../addon/native';
import { onAbort } from '../async/signals';
import { codedError, type ErrorCode, type TorchError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { buildCommand, distributedName } from '../libtorch/bindings';
import { enter, now } from '../lifetimes/context';

/** A c10d store or group: a native value that only native functions look into. */
export type Opaque = { readonly opaque: unique symbol };

declare module '../addon/interface' {
  interface Native {
    /** The backends that the second addon has. */
    distributedOpen(file: string, onMail: () => void, isMainThread: boolean): [gloo: boolean, nccl: boolean];
    /** The jobs that have ended. */
    distributedMail(): number[];
    /** Why a job failed or null, whether that was a timeout, and its result. */
    distributedTake(job: number): [failure: string | null, timedOut: boolean, value: unknown];
    /** Nobody waits for the job any more. */
    distributedAbandon(job: number): void;
    /** Ends all groups, because the process exits. */
    distributedEnd(): void;
    /** `worldSize`: 0 if it is not known. */
    distributedTcpStore(
      host: string,
      port: number,
      isServer: boolean,
      worldSize: number,
      waitForWorkers: boolean,
      timeoutMs: number,
    ): number;
    distributedFileStore(path: string, worldSize: number): number;
    distributedPrefixStore(prefix: string, store: Opaque): Opaque;
    storePort(store: Opaque): number;
    storeSet(store: Opaque, key: string, value: Uint8Array): number;
    storeGet(store: Opaque, key: string, timeoutMs: number): number;
    storeWait(store: Opaque, keys: readonly string[], timeoutMs: number): number;
    storeAdd(store: Opaque, key: string, amount: number): number;
    storeCheck(store: Opaque, keys: readonly string[]): number;
    storeCompareSet(store: Opaque, key: string, expected: Uint8Array, desired: Uint8Array): number;
    storeDeleteKey(store: Opaque, key: string): number;
    storeNumKeys(store: Opaque): number;
    distributedGroup(store: Opaque, backend: string, rank: number, size: number, timeoutMs: number): number;
    distributedSetSequenceNumber(group: Opaque): number;
    distributedClose(group: Opaque): number;
    distributedSupports(group: Opaque, dtype: number, kind: number): boolean;
    /** `numbers`: the place of the reduce op, root, tag, whether all ranks are named, timeout in ms. */
    distributedStart(
      group: Opaque,
      kind: number,
      inputs: readonly number[],
      outputs: readonly number[],
      numbers: readonly number[],
      inputSplits: readonly number[],
      outputSplits: readonly number[],
    ): number;
    /** Waits on this thread until all ranks have the tensors of rank `root` of the group. */
    reducerBroadcast(group: Opaque, tensors: readonly number[], root: number): void;
    /** The same, with ZeroRedundancyOptimizer's name in errors. */
    zeroBroadcast(group: Opaque, tensors: readonly number[], root: number): void;
    /** Jobs in progress, shared by all copies of the library that use one addon. */
    distributedJobs?: Map<number, Job>;
  }
}

export interface Job {
  ended(failure: string | null, timedOut: boolean, value: unknown): void;
}

export const distributedError = (fn: string, text: string, code: ErrorCode = 'ERR_TORCH_DISTRIBUTED'): TorchError =>
  Object.assign(codedError(Error, code, `${fn}: ${text}`), { op: fn });

/** The second addon's file: beside the addon. */
export const libraryFile = (): string => path.join(path.dirname(addonFile), distributedName);

/** Whether torch.distributed can be used: PyTorch's `is_available()`. */
export function isAvailable(): boolean {
  return fs.existsSync(libraryFile());
}

native.distributedJobs ??= new Map();
const jobs = native.distributedJobs;
let isOpen = false;
let [hasGloo, hasNccl] = [false, false];

/** The newest copy's function receives the mail for all copies: an older copy's globals may be gone. */
export function openLibrary(fn: string): void {
  if (isOpen) return;
  const file = libraryFile();
  if (!fs.existsSync(file)) {
    throw distributedError(
      fn,
      `this build has no torch.distributed: ${path.basename(file)} is not beside the addon. It is built where libtorch's headers have c10d and Gloo's headers are installed: on Debian or Ubuntu \`apt-get install libtorch-dev libgloo-dev\`, then ${buildCommand({ force: true })}`,
    );
  }
  const { current } = now;
  restoring(
    () => enter(current),
    () => {
      enter(null); // the mailbox belongs to no scope
      try {
        [hasGloo, hasNccl] = native.distributedOpen(file, onMail, isMainThread);
      } catch (error) {
        throw distributedError(fn, `the second addon cannot be loaded: ${(error as Error).message}`);
      }
    },
  );
  // Before C++ static destruction, while the threads of Gloo still have everything that they use.
  if (isMainThread) process.once('exit', () => native.distributedEnd());
  isOpen = true;
}

/** Opens the library, and refuses a backend that it does not have, before any rank waits. */
export function openBackend(fn: string, backend: string): void {
  openLibrary(fn);
  if (backend === 'nccl' ? hasNccl : hasGloo) return;
  const [other, name] = backend === 'nccl' ? ['gloo', 'NCCL'] : ['nccl', 'Gloo'];
  throw distributedError(fn, `argument 'backend': expected '${other}', got '${backend}': this build has no ${name}`);
}

function onMail(): void {
  for (const id of native.distributedMail()) {
    const [failure, timedOut, value] = native.distributedTake(id);
    const job = jobs.get(id);
    jobs.delete(id);
    job?.ended(failure, timedOut, value);
  }
}

export interface JobOptions {
  readonly signal?: Signal | undefined;
  /** The job is given up after this time, even if its thread still waits. */
  readonly limitMs?: number;
  /** Rewords a failure. */
  readonly explain?: (failure: string, timedOut: boolean) => { text: string; code: ErrorCode };
}

/** The longest time that Node's timers take. */
const MAX_TIMER = 2 ** 31 - 1;

/** The promise of a native job. `fn`: the name in errors. Aborting rejects with the signal's reason. */
export function runJob<T>(fn: string, start: () => number, { signal, limitMs, explain }: JobOptions = {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const id = start();
    let forget = () => {};
    let timer: NodeJS.Timeout | undefined;
    const explained = (failure: string, timedOut: boolean) => {
      const usual = { text: failure, code: timedOut ? 'ERR_TORCH_TIMEOUT' : 'ERR_TORCH_DISTRIBUTED' } as const;
      const { text, code } = explain?.(failure, timedOut) ?? usual;
      return distributedError(fn, text, code);
    };
    const settle = (how: () => void) => {
      forget();
      clearTimeout(timer);
      how();
    };
    jobs.set(id, {
      ended: (failure, timedOut, value) => {
        if (failure === null) return settle(() => resolve(value as T));
        const error = explained(failure, timedOut);
        settle(() => reject(error));
      },
    });
    // What the job gives later is dropped; promises settle once.
    const giveUp = (error: unknown) => {
      native.distributedAbandon(id);
      settle(() => reject(error));
    };
    if (signal !== undefined) forget = onAbort(signal, () => giveUp(signal.reason));
    if (limitMs !== undefined) {
      const late = () => giveUp(explained(`timed out after ${limitMs} ms`, true));
      timer = setTimeout(late, Math.min(limitMs, MAX_TIMER));
    }
  });
}
