/** Finds the name of a value in the source line of its call. */
import * as path from 'node:path';
import type { Frame } from '../capture/records';
import { readRegular } from '../files/regular-file';
import { patternBefore } from './pattern';

/** For a code file. */
const MAX_BYTES = 16 * 2 ** 20;
const MAX_CHARACTERS = 80;
/** Characters searched in a line: a bundle may be one line, and the expressions below take quadratic time. */
const MAX_BEFORE = 400;
const NAME = String.raw`(?:this\.)?#?[A-Za-z_$][\w$]*(?:\.#?[A-Za-z_$][\w$]*)*`;
/** `total = …`, `const total = …`, `this.state = …`, `total: Tensor = …`; no comparison, no arrow. */
const ASSIGNED = new RegExp(String.raw`(?:^|[;{(]|\b(?:const|let|var)\s)\s*(${NAME})(?:\s*:[^=;]*)?\s*=(?![=>])`, 'g');
/** A line that ends with `=` that is not part of a comparison. */
const ENDS = /[^=!<>]=$/;
/** The receiver of a method call, right before the column of the method. */
const RECEIVER = new RegExp(String.raw`(${NAME})\s*\??\.\s*$`);

/** Empty if the source does not have a name, or cannot be read. */
export function variableAt({ file, line, column }: Frame): string {
  if (line < 1 || !path.isAbsolute(file)) return '';
  try {
    const lines = readRegular(file, MAX_BYTES)?.split('\n', line) ?? [];
    const [text, previous = ''] = [lines[line - 1], lines[line - 2]?.trimEnd()];
    if (text === undefined) return '';
    // The target of a long line is often on the line before.
    return ENDS.test(previous) ? variableIn(previous + text, previous.length + column) : variableIn(text, column);
  } catch {
    return ''; // no such file here
  }
}

/**
 * In one line: the target that the call at `column` (from 1) is assigned to, or the names of the pattern that it is
 * destructured into; else its receiver.
 */
export function variableIn(text: string, column: number): string {
  const end = Math.max(0, column - 1);
  const before = text.slice(Math.max(0, end - MAX_BEFORE), end);
  const assigned = [...before.matchAll(ASSIGNED)].at(-1);
  const pattern = patternBefore(before);
  // A default value in a pattern looks like an assignment, too.
  const isPattern = pattern !== undefined && (assigned?.index ?? -1) < pattern.at;
  const name = isPattern ? pattern.name : (assigned?.[1] ?? RECEIVER.exec(before)?.[1] ?? '');
  return name === 'torch' || name.length > MAX_CHARACTERS ? '' : name;
}
