/** Traces of steps over several ranks, for Chrome's viewer: whether collectives run while a backward computes. */
import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { world } from './group';
import { distributedError } from './library';

declare module '../addon/interface' {
  interface Native {
    /** False if a recording is in progress. */
    traceStart(): boolean;
    /** Times in microseconds of the clock of process.hrtime. */
    traceStop(): [name: string, isBackward: boolean, thread: number, begin: number, end: number][];
  }
}

/** An event of the Chrome trace format. Times in µs; `pid` is the rank. */
export interface TraceEvent {
  readonly name: string;
  /**
   * 'backward': a node of a backward. 'collective': a collective, from its start to its end, or to that of the trace if it is in
   * progress then. 'call': the function itself.
   */
  readonly cat: 'backward' | 'collective' | 'call' | '__metadata';
  readonly ph: 'X' | 'M';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

export interface Trace {
  readonly traceEvents: readonly TraceEvent[];
}

const FN = 'distributed.trace';
const now = () => Number(process.hrtime.bigint()) / 1000;

/** Rows of the viewer for collectives, which overlap each other: the first row that is free. */
function rowOf(rows: number[], begin: number, end: number): number {
  const found = rows.findIndex((busy) => busy <= begin);
  const row = found < 0 ? rows.length : found;
  rows[row] = end;
  return row;
}

/** Above the numbers of threads. */
const COLLECTIVES = 1_000_000;

/**
 * Records what backwards and collectives do while `fn` runs, in all threads of the process, at most a million spans. The result as
 * JSON is a file for Perfetto or chrome://tracing; `traceEvents` of the ranks of one machine can be joined, as they have one clock.
 */
export async function trace(fn: () => unknown): Promise<Trace> {
  if (typeof fn !== 'function') throw argumentError(FN, 'fn', 'a function', fn);
  const start = now();
  if (!native.traceStart()) throw distributedError(FN, 'another trace is in progress');
  let spans: ReturnType<typeof native.traceStop> = [];
  try {
    await fn();
  } finally {
    spans = native.traceStop();
  }
  const pid = Math.max(world.group?.rank ?? 0, 0);
  const rows: number[] = [];
  const events = spans
    .sort((a, b) => a[3] - b[3])
    .map(([name, isBackward, thread, begin, end]): TraceEvent => {
      const cat = isBackward ? 'backward' : 'collective';
      const tid = isBackward ? thread : COLLECTIVES + rowOf(rows, begin, end);
      return { name, cat, ph: 'X', pid, tid, ts: begin, dur: end - begin };
    });
  const label = {
    name: 'process_name',
    cat: '__metadata',
    ph: 'M',
    pid,
    tid: 0,
    args: { name: `rank ${pid}` },
  } as const;
  const call = { name: FN, cat: 'call', ph: 'X', pid, tid: 0, ts: start, dur: now() - start } as const;
  return { traceEvents: [label, call, ...events] };
}
