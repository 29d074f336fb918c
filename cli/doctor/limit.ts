/** How large a figure for torch.setMemoryLimit fits into a limit on the process's memory. */

export interface LimitInputs {
  /** What the process may use in all. */
  limitBytes: number;
  /** What V8's heap may grow to. */
  heapLimitBytes: number;
  /** What a process with libtorch uses before it does anything. */
  baselineBytes: number;
}

export interface LimitAdvice {
  /** What is left for libtorch's tensors. */
  bytes: number;
  /** When V8's heap takes what tensors need: a smaller heap to start node with, in MiB; else null. */
  heapMiB: number | null;
  /** False when the limit is too small for libtorch in any case. */
  fits: boolean;
}

const MIB = 2 ** 20;
/** Kept free: what malloc and threads' stacks use beyond the blocks that libtorch asks for. */
const MARGIN = 0.05;
/** Below this, no use of libtorch is worth a figure. */
const MIN_BYTES = 16 * MIB;

const left = (limit: number, heap: number, baseline: number): number =>
  Math.floor((limit * (1 - MARGIN) - heap - baseline) / MIB) * MIB;

/** The limit, less V8's heap at its largest, less what the process uses at rest, less a margin; in whole MiB. */
export function adviseLimit({ limitBytes, heapLimitBytes, baselineBytes }: LimitInputs): LimitAdvice {
  const bytes = left(limitBytes, heapLimitBytes, baselineBytes);
  if (bytes >= limitBytes / 4 || heapLimitBytes <= limitBytes / 4) {
    return { bytes: Math.max(0, bytes), heapMiB: null, fits: bytes >= MIN_BYTES };
  }
  // A heap that leaves less than a quarter to tensors is rarely meant: by default V8 takes up to half of the memory.
  const heapMiB = Math.max(64, Math.floor(limitBytes / 4 / MIB));
  const smaller = left(limitBytes, heapMiB * MIB, baselineBytes);
  return { bytes: Math.max(0, smaller), heapMiB, fits: smaller >= MIN_BYTES };
}
