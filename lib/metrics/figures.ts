/** The exported figures, and their names in Prometheus and OpenTelemetry. docs/metrics.md documents them. */
import { type MemoryTotals, native } from '../addon/native';

/** One figure: a DeviceFigure has one value per device, a ProcessFigure one per process. */
interface Figure {
  /** The name after the prefix, by Prometheus' rules (base units, `_total` for counters). */
  readonly prometheus: string;
  /** The name by OpenTelemetry's rules: a separate unit, no suffix. */
  readonly openTelemetry: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'counter';
  readonly help: string;
}

export interface DeviceFigure extends Figure {
  readonly of: keyof MemoryTotals;
}

export interface ProcessFigure extends Figure {
  /** Null if there is no value. */
  readonly read: () => number | null;
}

export const deviceFigures: readonly DeviceFigure[] = [
  {
    ...{ of: 'tensors', kind: 'sum', unit: '{tensor}', help: 'Live tensors of JavaScript' },
    ...{ prometheus: 'tensors', openTelemetry: 'libtorch.tensors' },
  },
  {
    ...{ of: 'storages', kind: 'sum', unit: '{storage}', help: 'Distinct storages behind the live tensors' },
    ...{ prometheus: 'storages', openTelemetry: 'libtorch.storages' },
  },
  {
    ...{
      of: 'bytes',
      kind: 'sum',
      unit: 'By',
      help: 'Bytes of the storages behind the live tensors, each counted once',
    },
    ...{ prometheus: 'live_bytes', openTelemetry: 'libtorch.memory.live' },
  },
  {
    ...{ of: 'allocatedBytes', kind: 'sum', unit: 'By', help: 'Bytes that the allocator of libtorch holds' },
    ...{ prometheus: 'allocated_bytes', openTelemetry: 'libtorch.memory.allocated' },
  },
  {
    ...{ of: 'peakAllocatedBytes', kind: 'gauge', unit: 'By', help: 'The most bytes that the allocator has held' },
    ...{ prometheus: 'peak_allocated_bytes', openTelemetry: 'libtorch.memory.allocated.peak' },
  },
];

export const processFigures: readonly ProcessFigure[] = [
  {
    ...{ kind: 'counter', unit: '{allocation}', help: 'Blocks that the CPU allocator of libtorch has given out' },
    ...{ prometheus: 'allocations_total', openTelemetry: 'libtorch.allocations' },
    read: () => native.allocations(),
  },
  {
    ...{ kind: 'gauge', unit: 'By', help: 'The limit of torch.setMemoryLimit; absent without one' },
    ...{ prometheus: 'memory_limit_bytes', openTelemetry: 'libtorch.memory.limit' },
    read: () => (native.memoryLimit() < 0 ? null : native.memoryLimit()),
  },
];

/** The figures of `exportToPrometheus({ verdict })`. */
export const verdictFigures = {
  verdict: { prometheus: 'leak_verdict', help: 'The verdict of leak-audit on this process: 1 for the one that holds' },
  rate: { prometheus: 'leak_bytes_per_minute', help: 'Growth of the lines that leak, by the last judgement' },
  judgedAt: { prometheus: 'leak_judged_timestamp_seconds', help: 'When the verdict was found' },
  judgements: { prometheus: 'leak_judgements_total', help: 'Judgements by outcome' },
} as const;

/** The label and the attribute of the device. */
export const DEVICE_LABEL = 'device';
export const DEVICE_ATTRIBUTE = 'libtorch.device';
