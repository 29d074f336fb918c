/** `leak-audit report A B …`: captures of several processes in one report, which says in which process each site is. */
import type { Capture } from '../capture/capture';
import { condense, type Limits, WHOLE } from '../capture/condense';
import { Budget } from '../capture/limits';
import { type LoadedCapture, readParts } from '../capture/load';
import { mergeProcesses } from '../capture/processes';
import { withFileName } from '../capture/reader';
import { UsageError } from '../errors/errors';
import type { Redaction } from './redact';
import type { MergedProcess, Report } from './report';
import { groupByPosition, processOf } from './sites';

/** Rounds are shared among the captures, so with more of them each would have too few for a verdict. */
const MAX_FILES = 256;

/** A recording that ends at most this many rounds, or milliseconds, before the last one is of a process that ran until then. */
const LAST_ROUNDS = 4;
const MIN_LAST_MS = 2000;

/** A recording that was detached leaves its process running; others end with it, or were copied while they ran. */
function stays({ start, end }: Capture, endMs: number, lastMs: number): boolean {
  if (end?.reason === 'detached' || end?.reason === 'abandoned') return true;
  return lastMs - endMs <= Math.max(MIN_LAST_MS, LAST_ROUNDS * (start?.intervalMs ?? 0));
}

export interface Merged extends LoadedCapture {
  processes: MergedProcess[];
}

/**
 * Loads captures and aligns their rounds by wall-clock time. They share the limits of one capture, so that memory does not
 * grow with their number.
 *
 * @throws {UsageError} with one line, if one of them is not a capture, or cannot be merged with the others
 */
export function loadMerged(files: string[]): Merged {
  if (files.length > MAX_FILES) throw new UsageError(`expected at most ${MAX_FILES} captures, got ${files.length}`);
  const budget = new Budget();
  const limits: Limits = { rounds: WHOLE.rounds / files.length, rows: WHOLE.rows / files.length };
  const parts: { capture: Capture; file: string; startMs: number }[] = [];
  for (const file of files) {
    withFileName(file, () => {
      const read = readParts(file, budget, limits).parts;
      const { start } = read[0]!;
      if (start === undefined) throw new UsageError('expected a capture of a program that loaded libtorch-node');
      const mode = parts[0]?.capture.start?.mode ?? start.mode;
      if (start.mode !== mode) {
        throw new UsageError(`expected a capture in mode ${mode}, as ${files[0]}, got mode ${start.mode}`);
      }
      for (const capture of read) {
        // Within a file, processes are aligned by the monotonic clock, which differs between machines.
        const { clockMs } = capture.start ?? {};
        const since = clockMs === undefined || start.clockMs === undefined ? 0 : clockMs - start.clockMs;
        parts.push({ capture, file, startMs: start.startedAt + since });
      }
    });
  }
  // The report begins with the first process.
  const sorted = [...parts].sort((a, b) => a.startMs - b.startMs);
  const capture = mergeProcesses(
    sorted.map((part) => part.capture),
    { starts: sorted.map((part) => part.startMs), stays },
  );
  condense(capture);
  const started = sorted.filter((part) => part.capture.start !== undefined);
  return {
    capture,
    rounds: capture.ticks.length,
    peakRss: capture.ticks.reduce((most, { rss }) => Math.max(most, rss), 0),
    processes: capture.processes.map(({ pid, command, startMs, endMs, ended, rank }, i) => {
      const its = rank === undefined ? {} : { rank: rank.rank };
      return { file: started[i]!.file, pid, command, startMs, endMs, ended, ...its };
    }),
  };
}

/** Adds the processes, and to each site those that hold tensors of it or made some. */
export function withProcesses(report: Report, { capture, processes }: Merged, redaction?: Redaction): Report {
  const held = new Map<string, NonNullable<Report['sites'][number]['inProcesses']>>();
  for (const { frame, members } of groupByPosition(capture, [...capture.series.values()])) {
    const rows = new Map<
      number,
      { process: number; liveTensors: number; liveBytes: number; allocatedTensors: number }
    >();
    for (const { series } of members) {
      const process = processOf(capture, series.siteId);
      const row = rows.get(process) ?? { process, liveTensors: 0, liveBytes: 0, allocatedTensors: 0 };
      row.liveTensors += series.liveTensors.at(-1) ?? 0;
      row.liveBytes += series.liveBytes.at(-1) ?? 0;
      row.allocatedTensors += series.allocatedTensors.at(-1) ?? 0;
      rows.set(process, row);
    }
    held.set(
      keyOf(frame),
      [...rows.values()].sort((a, b) => b.liveBytes - a.liveBytes || a.process - b.process),
    );
  }
  return {
    ...report,
    processes: processes.map((one) =>
      redaction === undefined
        ? one
        : { ...one, file: redaction.file(one.file), command: one.command === '' ? '' : '(redacted)' },
    ),
    sites: report.sites.map((site) => ({ ...site, inProcesses: held.get(keyOf(site)) ?? [] })),
  };
}

const keyOf = ({ file, line, column }: { file: string; line: number; column: number }) => `${file}:${line}:${column}`;
