/** The addon's exports for memory: figures, limits, collections and weak references. */

export interface MemoryNative {
  memory(): MemoryReport;
  /** The limit of all allocated bytes; null for none. */
  setMemoryLimit(bytes: number | null): void;
  /** -1 for none. */
  memoryLimit(): number;
  /** Returns memory that was freed, and that malloc keeps for later, to the system. */
  trimMemory(): void;
  /** Only `memory().allocatedBytes`. */
  allocatedBytes(): number;
  /** The number of allocations of libtorch's CPU allocator so far. */
  allocations(): number;
  /** `all`: for an allocation inside an op that needs memory. `due`: for an op, when `flags[Flag.Collect]` is `BeforeOp`. */
  setCollectors(all: () => void, due: () => void): void;
  /** Frees what collections inside the op in progress found, except what the op uses. */
  freeQueued(): void;
  /** Lets go of arrays and functions that libtorch no longer uses. The event loop does it too, which a loop may never reach. */
  deleteReleased(): void;
  /** Refers to a target without keeping it: see weak.ts. */
  weakValue(target: object): unknown;
  /** Undefined once the target was collected. */
  weakTarget(reference: unknown): object | undefined;
  /**
   * The scavenge that the caller requests next does not visit the objects of V8's startup snapshot (native/v8/scavenges.h). Returns
   * their number; 0 if they were not found.
   */
  shortenScavenge(): number;
  /**
   * Calls `gc(minor)`, shortened so. `isSoon`: so soon after the last one that few objects can survive, which V8 copies without its
   * other threads then. `isTraced`: V8 formats its line about the scavenge. Both need flags of V8 (native/v8/flags.h).
   */
  scavengeShort(gc: (minor: object) => void, minor: object, isSoon: boolean, isTraced: boolean): number;
  /** Sets V8's flag by which new contexts have `gc`. False if the flag was not found. */
  exposeGc(value: boolean): boolean;
  /** The number of such scavenges of this thread. */
  shortScavenges(): number;
  /** The bytes reported to V8 for this thread, after settling. */
  reportedBytes(): number;
  /** Reports bytes to V8 that belong to no tensor. */
  adjustExternal(bytes: number): void;
}

/** Live JS handles, the distinct storages behind them, and bytes. See `torch.memory`. */
export interface MemoryTotals {
  /** Live JS handles. */
  tensors: number;
  /** Distinct storages behind them. */
  storages: number;
  /** Bytes of those storages, each counted once. Memory borrowed from a typed array counts 0, because V8 accounts for it. */
  bytes: number;
  /** Bytes held by libtorch's allocators, with or without a JS handle. */
  allocatedBytes: number;
  /** The peak of `allocatedBytes`; over several devices the sum of their peaks. */
  peakAllocatedBytes: number;
}

export interface MemoryReport extends MemoryTotals {
  /** Tokens of `t.share()` that may still be taken. A tensor held only by a token counts only in `allocatedBytes`. */
  tokens: number;
  /** Freed memory that threads keep for their next tensors on the CPU: at most 25 MiB each. */
  cachedBytes: number;
  /** The same for the CPU, and for each device that holds or held memory. */
  devices: Record<string, MemoryTotals>;
}
