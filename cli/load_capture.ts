/** A whole capture file for the commands that look at it, however large: condensed while it is read. */
import * as fs from 'node:fs';
import type { Capture } from './capture/capture';
import { CaptureParser } from './capture/reader';
import { condense } from './condense';
import { UsageError } from './errors';

export interface LoadedCapture {
  capture: Capture;
  /** Of all rounds, also of those that were condensed away. */
  rounds: number;
  peakRss: number;
}

const CHUNK_BYTES = 1 << 20;

/** Throws UsageError, in one line, when it is no capture. */
export function loadCapture(file: string): LoadedCapture {
  try {
    const loaded = read(file);
    if (loaded.capture.start === undefined) {
      throw new UsageError('not a leak-audit capture (it is empty or cut off)');
    }
    return loaded;
  } catch (error) {
    throw new UsageError(`${file}: ${reason(error)}`);
  }
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof UsageError) return message;
  if (code === 'ENOENT') return 'no such file';
  if (code === 'EISDIR') return 'a folder, not a capture';
  return code === undefined ? `damaged (${message})` : `cannot be read (${code})`;
}

function read(file: string): LoadedCapture {
  const parser = new CaptureParser();
  const { capture } = parser;
  const loaded = { capture, rounds: 0, peakRss: 0 };
  const fd = fs.openSync(file, 'r');
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES); // fresh: the parser keeps parts of it
      const n = fs.readSync(fd, chunk, 0, chunk.length, null);
      if (n === 0) return loaded;
      const seen = capture.ticks.length;
      parser.feed(chunk.subarray(0, n));
      for (let i = seen; i < capture.ticks.length; i++) {
        loaded.rounds++;
        loaded.peakRss = Math.max(loaded.peakRss, capture.ticks[i]!.rss);
      }
      condense(capture);
    }
  } finally {
    fs.closeSync(fd);
  }
}
