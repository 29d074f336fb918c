/** Loads a capture file of any size, condensing it while it is read. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { progress } from '../terminal/progress';
import type { Capture } from './capture';
import { condense, type Limits } from './condense';
import type { Budget } from './limits';
import { CaptureParser, withFileName } from './reader';

export interface LoadedCapture {
  capture: Capture;
  /** Number of all rounds, including those dropped by condensing. */
  rounds: number;
  peakRss: number;
}

const CHUNK_BYTES = 1 << 20;

/** @throws {UsageError} with one line, if `file` is not a capture */
export function loadCapture(file: string): LoadedCapture {
  return withFileName(file, () => {
    const { parser, parts, ...exact } = readParts(file);
    const capture = parser.finish();
    if (parts.length === 1) return { capture, ...exact };
    // For several processes, the peak is that of the sums.
    const peakRss = capture.ticks.reduce((most, { rss }) => Math.max(most, rss), 0);
    return { capture, rounds: capture.ticks.length, peakRss };
  });
}

/** Reads the processes of a file, each condensed to `limits`. `rounds` and `peakRss` are those of all. */
export function readParts(file: string, budget?: Budget, limits?: Limits) {
  const parser = new CaptureParser(budget);
  const seen = new Map<Capture, number>();
  const exact = { rounds: 0, peakRss: 0 };
  const fd = fs.openSync(file, 'r');
  let done = 0;
  try {
    const { size } = fs.fstatSync(fd);
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES); // not reused, because the parser keeps parts of it
      const n = fs.readSync(fd, chunk, 0, chunk.length, null);
      if (n === 0) break;
      parser.feed(chunk.subarray(0, n));
      done += n;
      progress.bytes(`reading ${file}`, done, size);
      for (const capture of parser.parts) {
        const { ticks } = capture;
        for (let i = seen.get(capture) ?? 0; i < ticks.length; i++) {
          exact.rounds++;
          exact.peakRss = Math.max(exact.peakRss, ticks[i]!.rss);
        }
        condense(capture, limits);
        seen.set(capture, ticks.length);
      }
    }
  } finally {
    fs.closeSync(fd);
  }
  const { capture: first, unclaimed, parts } = parser;
  // A program that was killed before its first packet, or could not write, leaves a file with a flag.
  if (first.start === undefined && !unclaimed && !first.lostFlag) {
    throw new UsageError('not a leak-audit capture (empty or truncated)');
  }
  return { parser, parts, ...exact };
}
