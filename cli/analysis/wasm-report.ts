/** What `run --wasm` adds to a report. */
import type { Frame } from '../capture/records';
import type { SiteKind, SiteVerdict } from '../rules/verdict';

/** One memory. Times are ms since the recording began. */
export interface WasmMemory {
  /** The line that made it. */
  file: string;
  line: number;
  column: number;
  function: string;
  pid: number;
  thread: number;
  shared: boolean;
  madeMs: number;
  initialBytes: number;
  /** At the end, or before it was freed. */
  bytes: number;
  grownBytes: number;
  /** When it was found to be freed; null if it is live. */
  freedMs: number | null;
}

export interface WasmSite {
  file: string;
  line: number;
  column: number;
  function: string;
  stack: Frame[];
  /** Live at the end, and made in all. */
  liveMemories: number;
  madeMemories: number;
  liveBytes: number;
  growthBytesPerMinute: number;
  verdict: SiteVerdict;
  kind: SiteKind;
  confidence: number | null;
  /** It grew so late in the run that it may go on growing. */
  grewLate: boolean;
}

export interface WasmReport {
  verdict: 'clean' | 'leak' | 'insufficient';
  rounds: number;
  durationMs: number;
  /** For the verdict `insufficient`: the duration of a run that would suffice; null if that is not what is missing. */
  sufficientMs: number | null;
  sites: WasmSite[];
  memories: WasmMemory[];
}
