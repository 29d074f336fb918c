/** Live, allocated and grown totals per allocation stack, for flame graphs and exports. */
import type { Capture } from '../capture/capture';
import type { Frame, Series } from '../capture/records';
import { calledName } from '../code/function-names';
import { deviceMatches, groupByPosition } from './sites';

export interface StackTotals {
  /** Innermost first, through source maps; never empty. */
  frames: Frame[];
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
  /** Live at the end minus live after the first quarter of the capture; negative if it shrank. */
  grownTensors: number;
  grownBytes: number;
}

/** The three values of a stack. */
export const STACK_VALUES = ['live', 'allocated', 'growth'] as const;
export type StackValue = (typeof STACK_VALUES)[number];

const BYTES_OF = { live: 'liveBytes', allocated: 'allocatedBytes', growth: 'grownBytes' } as const;

/** The bytes of a stack by value. */
export const bytesOf = (stack: StackTotals, value: StackValue): number => stack[BYTES_OF[value]];

/** Warm-up, at least as in the rules. */
const WARM_UP = 0.25;

/** One entry per stack of source positions, most live bytes first. */
export function stackTotals(capture: Capture, options: { device?: string } = {}): StackTotals[] {
  const wanted = [...capture.series.values()].filter((series) => deviceMatches(series.device, options.device));
  const warm = Math.floor(capture.ticks.length * WARM_UP);
  const stacks = new Map<string, StackTotals>();
  for (const group of groupByPosition(capture, wanted)) {
    for (const { series, stack } of group.members) {
      const frames = stack.length === 0 ? [group.frame] : stack;
      const key = stackKey(frames);
      const total = stacks.get(key) ?? emptyTotals(frames);
      stacks.set(key, total);
      add(total, series, warm);
    }
  }
  return [...stacks.values()]
    .filter((stack) => stack.allocatedTensors > 0 || stack.liveTensors > 0)
    .sort((a, b) => b.liveBytes - a.liveBytes || b.allocatedBytes - a.allocatedBytes);
}

/** Equal for stacks of the same source positions. */
export const stackKey = (frames: Frame[]): string =>
  frames.map((frame) => `${frame.function}\0${frame.file}\0${frame.line}\0${frame.column}`).join('\0\0');

const emptyTotals = (frames: Frame[]): StackTotals => ({
  frames,
  liveTensors: 0,
  liveBytes: 0,
  allocatedTensors: 0,
  allocatedBytes: 0,
  grownTensors: 0,
  grownBytes: 0,
});

function add(total: StackTotals, series: Series, warm: number): void {
  let before = series.ticks.length - 1;
  while (before >= 0 && series.ticks[before]! > warm) before--;
  const liveTensors = series.liveTensors.at(-1) ?? 0;
  const liveBytes = series.liveBytes.at(-1) ?? 0;
  total.liveTensors += liveTensors;
  total.liveBytes += liveBytes;
  total.allocatedTensors += series.allocatedTensors.at(-1) ?? 0;
  total.allocatedBytes += series.allocatedBytes.at(-1) ?? 0;
  total.grownTensors += liveTensors - (series.liveTensors[before] ?? 0);
  total.grownBytes += liveBytes - (series.liveBytes[before] ?? 0);
}

/** The name of the function of a frame. */
export const functionName = (frame: Frame): string => (frame.line === 0 ? frame.file : calledName(frame));
