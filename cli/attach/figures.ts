/** The figures of a running process. */
import type { Frame } from '../capture/records';

export interface DeviceFigures {
  device: string;
  tensors: number;
  storages: number;
  bytes: number;
  /** Held by libtorch's allocator now, unlike SiteFigures.allocatedBytes. */
  allocatedBytes: number;
  peakAllocatedBytes: number;
}

export interface SiteFigures extends Frame {
  stack: Frame[];
  devices: string[];
  liveTensors: number;
  liveBytes: number;
  /** Since the recording began; for `(before attach)`, the tensors that existed then. */
  allocatedTensors: number;
  allocatedBytes: number;
}

export interface Snapshot {
  version: number;
  pid: number;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
  rss: number;
  devices: DeviceFigures[];
  /** The sites with most bytes; null while nothing is recorded. Estimates in mode `sample`. */
  sites: SiteFigures[] | null;
  mode: 'counters' | 'sample' | 'full' | null;
  /** Sum over all sites since the recording began; null if nothing is recorded, and in mode `counters`. */
  made: { tensors: number; bytes: number } | null;
  /** Duration of the recording so far. */
  ms: number | null;
}
