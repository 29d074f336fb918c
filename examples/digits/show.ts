/** The demo's text formats. */
import * as path from 'node:path';
import pc from 'picocolors';

/** Colours, only on a terminal. */
export const paint = pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR);

/** The fields of a site in leak-audit's JSON that the demo uses. */
export interface Site {
  file: string;
  line: number;
  column: number;
  verdict: string;
  growthBytesPerMinute: number;
  growthTensorsPerMinute: number;
}

export const formatSite = ({ file, line, column }: Site): string =>
  `${path.relative(process.cwd(), file)}:${line}:${column}`;

export const formatSpeed = ({ growthBytesPerMinute, growthTensorsPerMinute }: Site): string =>
  `${(growthBytesPerMinute / 2 ** 20).toFixed(1)} MiB (${Math.round(growthTensorsPerMinute).toLocaleString('en')} tensors) per minute`;
