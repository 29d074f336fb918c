/** Loads a capture file of any size, condensing it while it is read. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { progress } from '../terminal/progress';
import type { Capture } from './capture';
import { condense, type Limits } from './condense';
import type { Budget } from './limits';
import { type CaptureFollower, CaptureParser, withFileName } from './reader';

export interface LoadedCapture {
  capture: Capture;
  /** Number of all rounds, including those dropped by condensing. */
  rounds: number;
  peakRss: number;
}

const CHUNK_BYTES = 1 << 20;

/** @throws {UsageError} with one line, if `file` is not a capture */
export const loadCapture = (file: string): LoadedCapture => withFileName(file, () => wholeOf(readParts(file)));

/**
 * Loads the file that `follower` has open, which another file may have replaced by now, and closes it. For a program that
 * was killed before its first packet, the capture is empty.
 */
export function loadFollowed(follower: CaptureFollower): LoadedCapture {
  return withFileName(follower.file, () => {
    try {
      follower.poll();
      const { descriptor } = follower;
      if (descriptor === undefined) return { capture: follower.finish(), rounds: 0, peakRss: 0 };
      return wholeOf(readOpen(descriptor, follower.file));
    } finally {
      follower.close();
    }
  });
}

type Parts = ReturnType<typeof readOpen>;

function wholeOf({ parser, parts, ...exact }: Parts): LoadedCapture {
  const capture = parser.finish();
  if (parts.length === 1) return { capture, ...exact };
  // For several processes, the peak is that of the sums.
  const peakRss = capture.ticks.reduce((most, { rss }) => Math.max(most, rss), 0);
  return { capture, rounds: capture.ticks.length, peakRss };
}

/** Reads the processes of a file, each condensed to `limits`. `rounds` and `peakRss` are those of all. */
export function readParts(file: string, budget?: Budget, limits?: Limits) {
  const fd = fs.openSync(file, 'r');
  try {
    const read = readOpen(fd, file, budget, limits);
    const { capture: first, unclaimed } = read.parser;
    // A program that was killed before its first packet, or could not write, leaves a file with a flag.
    if (first.start === undefined && !unclaimed && !first.lostFlag) {
      throw new UsageError('not a leak-audit capture (empty or truncated)');
    }
    return read;
  } finally {
    fs.closeSync(fd);
  }
}

/** Reads an open file from its beginning; `name` is for the progress. */
function readOpen(fd: number, name: string, budget?: Budget, limits?: Limits) {
  const parser = new CaptureParser(budget, true);
  const seen = new Map<Capture, number>();
  const exact = { rounds: 0, peakRss: 0 };
  const stat = fs.fstatSync(fd);
  // A pipe is read from where it is. It has no position.
  const isFile = stat.isFile();
  for (let done = 0; ; ) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES); // not reused, because the parser keeps parts of it
    const n = fs.readSync(fd, chunk, 0, chunk.length, isFile ? done : null);
    if (n === 0) break;
    parser.feed(chunk.subarray(0, n));
    done += n;
    progress.bytes(`reading ${name}`, done, stat.size);
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
  return { parser, parts: parser.parts, ...exact };
}
