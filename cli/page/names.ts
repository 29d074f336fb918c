/** Short names of source positions, for legends. */
import * as path from 'node:path';
import type { Frame } from '../capture/records';
import { cutBegin } from '../terminal/size';

/** Characters of a file's name in the legend, so that the line number is visible too. */
const MAX_NAME = 28;

/** `classify.ts:42 classify`; with the column or the whole path where that is not unique. */
export function shortNames(frames: Frame[]): string[] {
  const base = ({ file }: Frame) => cutBegin(path.basename(file), MAX_NAME);
  const ways = [
    (frame: Frame) => `${base(frame)}:${frame.line}`,
    (frame: Frame) => `${base(frame)}:${frame.line}:${frame.column}`,
    (frame: Frame) => `${frame.file}:${frame.line}:${frame.column}`,
  ];
  return frames.map((frame) => {
    if (frame.line === 0) return frame.file;
    const way = ways.find((of) => frames.filter((other) => of(other) === of(frame)).length === 1) ?? ways[2]!;
    return `${way(frame)} ${frame.function}`.trim();
  });
}
