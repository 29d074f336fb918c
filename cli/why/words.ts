/** Formats names and positions of the program in a path: as in its source, or redacted. */
import * as path from 'node:path';
import { scriptPath } from '../../lib/observe/audit/script-path';
import type { Redaction } from '../analysis/redact';
import type { Frame } from '../capture/records';
import { SourceMaps } from '../code/source-maps';
import { position, relativeFile } from '../wording/position';
import type { Words } from './names';

/** `compiled`: files whose lines in the heap are those of code that was compiled in memory, so only the file is named. */
export function wordsFor(folder: string, redaction: Redaction | undefined, compiled: ReadonlySet<string>): Words {
  const maps = new SourceMaps();
  const redacted = (frame: Frame) => (redaction === undefined ? frame : redaction.frame(frame));
  const written = (file: string, line: number, column: number) =>
    redacted(maps.resolve({ file: scriptPath(file), line, column, function: '' }));
  return {
    name: (text) => (redaction === undefined ? text : redaction.word(text)),
    // A bundle is one module of many files, and where a variable was declared is not known.
    file: (file, line, column) =>
      relativeFile(
        maps.isBundle(scriptPath(file))
          ? redacted({ file: scriptPath(file), line, column, function: '' })
          : written(file, line, column),
        folder,
      ),
    written: (frame) => {
      const place = position(frame, folder);
      return frame.function === '' ? place : `${place} (${frame.function})`;
    },
    place: (file, line, column) => {
      const frame = written(file, line, column);
      if (compiled.has(scriptPath(file))) return relativeFile(frame, folder);
      return `${position(frame, folder).replace(/:\d+$/, '')}`;
    },
  };
}

/** Whether a file belongs to this package, whose own references do not count as holders. */
export function isOwnFile(file: string): boolean {
  return scriptPath(file).startsWith(`${path.resolve(__dirname, '../../lib')}${path.sep}`);
}
