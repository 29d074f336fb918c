/**
 * Original source lines. Test runners that compile in memory (Jest, Vitest) keep their source maps private and translate
 * through `Error.prepareStackTrace`, so positions are passed through that.
 */
import * as path from 'node:path';
import { native } from '../addon/native';
import { throughFormatter } from '../observe/audit/compiled';
import { original } from '../observe/audit/positions';
import type { Frame } from '../observe/audit/stack';
import { framesOf } from '../observe/watch';

/** The line that made tensors. */
export interface Place {
  /** Null if the stack is unknown. */
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
  readonly function: string;
  /** The lines "    at fn (file:line:column)". */
  readonly stack: string;
}

function written(frame: Frame): Frame {
  return throughFormatter(frame) ?? { ...original(frame), function: frame.function };
}

/** The place of a site of the watch, with its stack up to the measured function. */
export function placeOf(site: number): Place {
  const all = framesOf(native, site);
  const ours = all.findIndex(({ file }) => path.dirname(file) === __dirname);
  const [first, ...others] = ours < 0 ? all : all.slice(0, ours);
  if (first === undefined) return { file: null, line: 0, column: 0, function: '', stack: '' };
  const frames = [first, ...others].map(written);
  const lines = frames.map(({ file, line, column, function: name }) =>
    name === '' ? `    at ${file}:${line}:${column}` : `    at ${name} (${file}:${line}:${column})`,
  );
  const { file, line, column, function: name } = frames[0]!;
  return { file, line, column, function: name, stack: lines.join('\n') };
}
