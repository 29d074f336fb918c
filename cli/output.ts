/** Where reports go: stdout, or files that are complete or not there. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { colorsFor } from './colors';
import { UsageError } from './errors';
import type { Report } from './report';
import { renderHtml } from './reporters/html';
import { renderJson } from './reporters/json';
import { renderText } from './reporters/text';

/** Shows the report: text on stdout, unless the JSON goes there (`--json -`). */
export function showReport(report: Report, { json, html }: { json?: string; html?: string }): void {
  if (html !== undefined) writeOutput(html, renderHtml(report, process.cwd()));
  if (json === '-') {
    process.stdout.write(renderJson(report));
    return;
  }
  if (json !== undefined) writeOutput(json, renderJson(report));
  process.stdout.write(
    renderText(report, {
      colors: colorsFor(process.stdout),
      folder: process.cwd(),
      columns: terminalColumns(process.stdout),
    }),
  );
}

/** Writes a file as a whole or not at all; '-' is stdout. */
export function writeOutput(file: string, text: string | Buffer): void {
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    fs.writeFileSync(temporary, text);
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

/** How wide the terminal is; undefined where it is none. */
export const terminalColumns = (stream: { isTTY?: boolean; columns?: number }): number | undefined =>
  stream.isTTY === true && (stream.columns ?? 0) > 0 ? stream.columns : undefined;

/** Before a long run, not after it: can this file be made? */
export function checkWritable(file: string | undefined): void {
  if (file === undefined || file === '-') return;
  const folder = path.dirname(path.resolve(file));
  try {
    fs.accessSync(folder, fs.constants.W_OK);
  } catch {
    throw new UsageError(`cannot write ${file}: ${folder} is no folder that can be written to`);
  }
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`cannot write ${file}: it is a folder`);
  }
}
