/** Computes a value for torch.setMemoryLimit from a limit on the process's memory. */

export interface LimitInputs {
  /** The limit on the process. */
  limitBytes: number;
  /** The limit on V8's heap. */
  heapLimitBytes: number;
  /** Memory of a process right after loading libtorch. */
  baselineBytes: number;
}

export interface LimitAdvice {
  /** The memory left for tensors. */
  bytes: number;
  /** A smaller limit for V8's heap in MiB, if the default leaves too little for tensors; else null. */
  heapMiB: number | null;
  /** False if the limit is too small for libtorch. */
  fits: boolean;
}

const MIB = 2 ** 20;
/** Reserve for malloc's overhead and the stacks of threads. */
const MARGIN = 0.05;
/** Below this, libtorch is not usable. */
const MIN_BYTES = 16 * MIB;

const left = (limit: number, heap: number, baseline: number): number =>
  Math.floor((limit * (1 - MARGIN) - heap - baseline) / MIB) * MIB;

/** The limit minus V8's largest heap, the baseline and a margin, in whole MiB. */
export function adviseLimit({ limitBytes, heapLimitBytes, baselineBytes }: LimitInputs): LimitAdvice {
  const bytes = left(limitBytes, heapLimitBytes, baselineBytes);
  if (bytes >= limitBytes / 4 || heapLimitBytes <= limitBytes / 4) {
    return { bytes: Math.max(0, bytes), heapMiB: null, fits: bytes >= MIN_BYTES };
  }
  // By default V8 takes up to half of the memory; a heap that leaves less than a quarter to tensors is rarely intended.
  const heapMiB = Math.max(64, Math.floor(limitBytes / 4 / MIB));
  const smaller = left(limitBytes, heapMiB * MIB, baselineBytes);
  return { bytes: Math.max(0, smaller), heapMiB, fits: smaller >= MIN_BYTES };
}
