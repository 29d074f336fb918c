/** The addon's functions for observers: recordings, heap snapshots, and watches inside the program. */

/** The requirements of one observer. */
export interface Demand {
  /** The mean distance in bytes between sampled stacks; 0 samples every tensor. */
  readonly sampleBytes: number;
  /** Whether releases are recorded too. */
  readonly deaths: boolean;
  /** Whether sites are told apart by the labels that were active there. */
  readonly labels?: boolean;
}

/** Labels of `torch.audit.label`: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** The addon's functions (native/exports/watch.cpp). One per environment. */
export interface WatchNative {
  watchConfigure(on: boolean, sampleBytes: number, deaths: boolean): void;
  watchDefineSite(json: string): number;
  watchSite(site: number): string;
  watchTag(site: number): void;
  watchAnnounce(cause: number, site: number): void;
  watchDeath(handle: number): [born: number, cause: number, freed: number] | undefined;
  watchRead(): { tensors: Float64Array; storages: Float64Array; devices: string[] };
  /** [nodes of autograd graphs that live tensors reach, the handle that reaches most]; undefined while the pool writes. */
  watchGraphs(): [nodes: number, handle: number] | undefined;
  /** The size in bytes from which a new storage is large; negative: never. */
  watchLarge(bytes: number): void;
  /** Handles of tensors with large new storages, since the last call. */
  watchTakeLarge(): Float64Array;
  /** Shared by all copies of the library that use this addon. */
  watchDemands?: Set<Demand>;
  /** How often the last observer left, at which the native side forgets its sites. */
  watchEpoch?: number;
}

/** Requests for heap snapshots (native/audit/heap_requests.h). */
export interface HeapNative {
  /** Descriptors of the files for snapshot and facts; undefined without a request. */
  auditTakeHeap(): [snapshot: number, facts: number] | undefined;
  /** Reports the result; `error` is '' on success. Closes the files. */
  auditHeapDone(pausedMs: number, error: string): void;
  /** Rows of handle, site of the recording (0: unknown) and scope (0: none). */
  auditSites(): Float64Array;
  /** A site's stack as JSON; '' if unknown. */
  auditSite(site: number): string;
  /** What the running code of a script on the stack names as its source map. */
  sourceMapUrl(script: string): string | undefined;
  /** False without a recording. */
  auditMark(name: string): boolean;
}

/** Paths in /proc of files that `leak-audit run --why` holds open; written when the program exits. */
export interface HeapFiles {
  snapshot: string;
  facts: string;
}

/** The same for child processes: each takes the first files that are left, by a token in the file `claims`. */
export interface ChildHeapFiles {
  claims: string;
  files: HeapFiles[];
}

/** The addon's functions (native/exports/audit.cpp). One per environment. */
export interface AuditNative extends WatchNative, HeapNative {
  /** Whether a recording is active, for code that cannot afford a native call. */
  recordingHere?: boolean;
  /** How many copies of the library use this object; each numbers its sites. */
  copies?: number;
  /** Memory of the addon. `flags[Flag.AuditPending]` is nonzero while new handles of this environment wait for their site. */
  readonly flags: Uint32Array;
  /** Why it did not start ('': the capture has an owner, or a recording is active here), or undefined. */
  auditStart(options: AuditOptions): string | undefined;
  auditStop(reason: string): void;
  /** The depth of stacks; 0 without a recording. */
  auditDepth(): number;
  /** The number of the recording that runs, from 1 in the order of their beginnings; 0 without one. */
  auditNumber(): number;
  /** Whether a recording has every tensor. */
  auditRecordsAll(): boolean;
  /**
   * Opens the socket for `leak-audit attach`, once per process; returns the reason if it failed. `variable`: the value of
   * LIBTORCH_NODE_ATTACH in this environment.
   */
  auditListen(variable: string | undefined, isMainThread: boolean): string | undefined;
  /** Calls `callback` at each begin and end of a recording. Replaces the previous callback. */
  auditFollow(callback: () => void): void;
  /** Reports the existing tensors of this environment to a recording that began. */
  auditTellCapture(): void;
  /** Reports the contents of autograd graphs to a recording. `collected`: right after a full collection. */
  auditCensus(collected: boolean): void;
  auditTag(siteId: number, labelId: number): void;
  /**
   * The same with the site of the running stack, if its return addresses are known, alone or with the functions that wait for it
   * (`waiting`; 0: those are not known). `copy`: the number of this copy of the library. False: nothing was done.
   */
  auditTagKnown(labelId: number, waiting: number, copy: number): boolean;
  /** The site of the stack that the last `auditTagKnown` did not know. `waiting`: 0 if its return addresses determine it. */
  auditKnown(siteId: number, waiting: number): void;
  /** Whether the running code is a microtask, for which V8 adds the functions that wait for it; true if that is not known. */
  auditInMicrotask(): boolean;
  /** How many stacks of this environment were recognized. */
  auditRecognized(): number;
  auditDefineSite(json: string): number;
  /** The site at which a scope was opened; 0: it ended. */
  auditScope(scope: number, siteId: number): void;
  /** Returns 0 (no label) if there are too many. */
  auditDefineLabel(json: string): number;
  /** The process has joined a group as this rank, which captures name unless the environment gave one. */
  auditJoined(rank: number, worldSize: number): void;
  /** Marks in another process's capture that the events of this process are missing. */
  auditFlagLoss(file: string): void;
  auditHeap(heapUsed: number, external: number): void;
  /** Reports that a full collection of this environment, begun `agoMs` ago, has ended. */
  auditCollection(agoMs: number): void;
  /** The number of live recorded tensors. */
  auditLive(): number;
  /** All bytes that libtorch holds, with or without a tensor. */
  allocatedBytes(): number;
}

/** The content of the variable LIBTORCH_NODE_AUDIT. */
export interface AuditOptions {
  file: string;
  mode?: 'counters' | 'sample' | 'full';
  intervalMs?: number;
  depth?: number;
  sampleBytes?: number;
  /** 1: finer than `sampleBytes` while that is cheap. */
  adaptDistance?: 0 | 1;
  maxBytes?: number;
  followChildren?: boolean;
  /** `--why`: the files for what holds the tensors when the program exits: the process that owns the capture has the first. */
  why?: HeapFiles;
  /** With `followChildren`: those of its child processes. */
  whyChildren?: ChildHeapFiles;
  command?: string;
}
