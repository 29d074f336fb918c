/** The text of the program's source files, where they can be read here. */
import * as path from 'node:path';
import { readRegular } from '../files/regular-file';

/** A capture can name any file: only files of code are read, because a report may be shared. */
const CODE = /\.[cm]?[jt]sx?$/;
const MAX_BYTES = 4 * 2 ** 20;
const MAX_FILES = 256;

const texts = new Map<string, string | undefined>();

/** Undefined if the file is not code, cannot be read here, or is very large. */
export function codeOf(file: string): string | undefined {
  if (!path.isAbsolute(file) || !CODE.test(file)) return undefined;
  if (!texts.has(file) && texts.size < MAX_FILES) texts.set(file, read(file));
  return texts.get(file);
}

function read(file: string): string | undefined {
  try {
    return readRegular(file, MAX_BYTES);
  } catch {
    return undefined; // no such file here
  }
}

/** A bundle may be one line. */
const MAX_COLUMNS = 160;

export interface SourceLine {
  line: number;
  text: string;
}

/** The lines from `around` before `line` to as many after it, without their common indent; empty if unknown. */
export function linesAt(file: string, line: number, around = 1): SourceLine[] {
  const text = line < 1 ? undefined : codeOf(file);
  if (text === undefined) return [];
  const all = text.split('\n', line + around);
  if (line > all.length) return [];
  const first = Math.max(1, line - around);
  const shown = all.slice(first - 1).map((one) => one.replace(/\r$/, '').replaceAll('\t', '  '));
  const indents = shown.filter((one) => one.trim() !== '').map((one) => one.length - one.trimStart().length);
  const indent = Math.min(...indents, MAX_COLUMNS);
  return shown.map((one, i) => ({ line: first + i, text: one.slice(indent, indent + MAX_COLUMNS).trimEnd() }));
}
