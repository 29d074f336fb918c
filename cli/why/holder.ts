/** What holds tensors: the answer of one thread. */
import type { SiteShare } from './sites';

/** One holder, or several with paths of the same shape. */
export interface Holder {
  /** From a named root of the program to the tensors. */
  path: string[];
  tensors: number;
  /** For scopes that are still open: where they were opened, if known. */
  openedAt?: string;
  /** Bytes of storages, each counted once. 0 if only a heap snapshot is available. */
  bytes: number;
  /** Lines that made them, most bytes first; empty if nothing was recorded. */
  sites: SiteShare[];
}

export interface Answer {
  pid: number;
  thread: number;
  /** How long the thread was paused for its snapshot. */
  pausedMs: number;
  /** The age of the recording when the snapshot was taken; undefined: at the end of the program, or no recording. */
  afterMs?: number;
  tensors: number;
  bytes: number;
  heldBy: Holder[];
}

/** A live tensor. */
export interface Row {
  bytes: number;
  site: number;
  scope: number;
}
