/** The history of memory that no tensor accounts for, by the lines whose graphs hold it. */
import { deviceMatches, type Group } from '../analysis/sites';
import type { StackTotals } from '../analysis/stacks';
import type { Capture } from '../capture/capture';
import type { Frame, GraphSeries } from '../capture/records';
import { type Flame, flameOf } from './flame';
import { shortNames } from './names';
import { valuesAt } from './ranges';

export interface HiddenMemory {
  ms: number[];
  /** Held by libtorch, but not by JavaScript tensors. */
  total: number[];
  /** Most bytes first. */
  bands: { name: string; title: string; bytes: number[] }[];
  /** By stack: at the end, when most was hidden, and growth since the first quarter. Undefined if no line is known. */
  flame: Flame | undefined;
}

/** Less is libtorch's own buffers. */
const MIN_BYTES = 64 * 1024;
const MAX_BANDS = 6;
const WARM_UP = 0.25;
const NOWHERE: Frame = { file: '(no line known)', line: 0, column: 0, function: '' };

/** Undefined if too little is hidden. `shown` redacts a frame. */
export function hiddenMemory(
  capture: Capture,
  groups: Group[],
  points: number[],
  options: { device?: string },
  shown: (frame: Frame) => Frame,
  nameOf: (frame: Frame) => string,
): HiddenMemory | undefined {
  const total = points.map((i) => Math.max(0, capture.ticks[i]!.allocatedBytes - capture.ticks[i]!.bytes));
  const most = total.reduce((a, b) => Math.max(a, b), 0);
  if (most < MIN_BYTES || !deviceMatches('cpu', options.device)) return undefined;
  const peak = total.indexOf(most);
  const warm = Math.floor(points.length * WARM_UP);
  const bands: { frame: Frame; bytes: number[] }[] = [];
  const stacks: StackTotals[] = [];
  for (const { frame, members } of groups) {
    const sites = new Map(members.map(({ series, stack }) => [series.siteId, stack]));
    const sum = points.map(() => 0);
    for (const [site, stack] of sites) {
      const graphs = capture.graphs.get(site);
      if (graphs === undefined) continue;
      const bytes = valuesAt<GraphSeries>([graphs], points, (series) => series.hiddenBytes);
      for (const [i, value] of bytes.entries()) sum[i]! += value;
      stacks.push(totalsOf(stack.length === 0 ? [frame] : stack, bytes, peak, warm));
    }
    if (sum.some((value) => value > 0)) bands.push({ frame: shown(frame), bytes: sum });
  }
  bands.sort((a, b) => sumOf(b.bytes) - sumOf(a.bytes)).splice(MAX_BANDS);
  const isKnown = bands.length > 0;
  const names = shortNames(bands.map(({ frame }) => frame));
  const known = (of: (stack: StackTotals) => number) => stacks.reduce((sum, stack) => sum + of(stack), 0);
  const rest = { ...totalsOf([NOWHERE], total, peak, warm) };
  rest.liveBytes = Math.max(0, rest.liveBytes - known((stack) => stack.liveBytes));
  rest.allocatedBytes = Math.max(0, rest.allocatedBytes - known((stack) => stack.allocatedBytes));
  rest.grownBytes = Math.max(0, rest.grownBytes - known((stack) => stack.grownBytes));
  const named = [...stacks, rest].map((stack) => ({ ...stack, frames: stack.frames.map(shown) }));
  return {
    ms: points.map((i) => capture.ticks[i]!.ms),
    total,
    bands: bands.map(({ frame, bytes }, i) => ({
      name: names[i]!,
      title: `${nameOf(frame)} ${frame.function}`.trim(),
      bytes,
    })),
    flame: isKnown ? flameOf(named, nameOf).flame : undefined,
  };
}

const sumOf = (values: number[]) => values.reduce((a, b) => a + b, 0);

/** flameOf expects StackTotals; here allocatedBytes holds the hidden bytes at the peak. */
const totalsOf = (frames: Frame[], bytes: number[], peak: number, warm: number): StackTotals => ({
  frames,
  liveTensors: 0,
  liveBytes: bytes.at(-1) ?? 0,
  allocatedTensors: 0,
  allocatedBytes: bytes[peak] ?? 0,
  grownTensors: 0,
  grownBytes: (bytes.at(-1) ?? 0) - (bytes[warm] ?? 0),
});
