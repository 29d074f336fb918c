/** Where reports go: stdout, or files that are complete or not there. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Capture } from './capture/capture';
import { colorsFor } from './colors';
import { UsageError } from './errors';
import { pageData } from './page/data';
import { printableAll } from './printable';
import { progress } from './progress';
import { Redaction, redactReport } from './redact';
import type { Report } from './report';
import { renderHtml } from './reporters/html';
import { renderJson } from './reporters/json';
import { renderText } from './reporters/text';
import { renderWhy, whyReport } from './reporters/why';
import { terminalSize } from './terminal';
import { writeWholeFile } from './whole_file';
import type { Answer } from './why/answer';
import { withHolders } from './why/held';
import { print, sendBytes } from './writers';

export interface ShowOptions {
  json?: string;
  html?: string;
  /** The device that the report is of. */
  device?: string;
  redactSources?: boolean;
  /** Who holds the tensors, where that was asked. */
  held?: readonly Answer[];
}

/** `redaction` gives the numbers, where names are not to be shown. Shows the report: text on stdout, unless the JSON goes there (`--json -`). */
export function showReport(
  report: Report,
  capture: Capture,
  options: ShowOptions,
  redaction = options.redactSources ? new Redaction() : undefined,
): void {
  const folder = process.cwd();
  const { json, html } = options;
  const whole = options.held === undefined ? report : withHolders(report, options.held);
  const shown = redaction === undefined ? whole : redactReport(whole, redaction);
  if (html !== undefined) {
    progress.stage(`writing ${html}`);
    writeOutput(html, renderHtml(pageData(capture, report, { ...options, folder }, redaction), folder));
  }
  progress.end();
  if (json === '-') {
    print(renderJson(shown));
    return;
  }
  if (json !== undefined) writeOutput(json, renderJson(shown));
  const columns = terminalColumns(process.stdout);
  const colors = colorsFor(process.stdout);
  print(renderText(printableAll(shown), { colors, folder, columns }));
  if (options.held !== undefined && redaction === undefined)
    print(`\nwho holds them at the end\n${renderWhy(printableAll(whyReport(options.held)), { colors, folder })}`);
}

/** Writes a file as a whole or not at all; '-' is stdout. What is no file, a pipe or /dev/null, stays what it is. */
export function writeOutput(file: string, text: string | Buffer): void {
  if (file === '-') {
    progress.end();
    if (typeof text === 'string') print(text);
    else if (process.stdout.isTTY)
      throw new UsageError('this format is not text for a terminal: name a file, or use a pipe');
    else sendBytes(text);
    return;
  }
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    writeThere(file, text);
    return;
  }
  try {
    writeWholeFile(file, text);
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

function writeThere(device: string, text: string | Buffer): void {
  try {
    const fd = fs.openSync(device, fs.constants.O_WRONLY | fs.constants.O_NOCTTY);
    try {
      // What took its place meanwhile is not overwritten.
      if (fs.fstatSync(fd).isFile()) throw new UsageError(`cannot write ${device}: it became a file meanwhile`);
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot write ${device}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

/** How wide the terminal is; undefined where it is none. */
export const terminalColumns = (stream: { isTTY?: boolean; columns?: number }): number | undefined =>
  stream.isTTY === true ? terminalSize(stream).columns : undefined;

/** One file cannot hold two things: the capture that is read or kept, and each of the outputs, by their options. */
export function checkDistinct(files: Record<string, string | undefined>): void {
  const seen = new Map<string, string>();
  for (const [option, file] of Object.entries(files)) {
    if (file === undefined) continue;
    const place = file === '-' ? '-' : realPlace(file);
    const other = seen.get(place);
    const where = file === '-' ? 'stdout' : file;
    if (other !== undefined)
      throw new UsageError(`${other} and ${option} are both ${where}: each needs a file of its own`);
    seen.set(place, option);
  }
}

/** The same for all names of a file, also where it does not exist yet. */
function realPlace(file: string): string {
  const place = path.resolve(file);
  try {
    return fs.realpathSync(place);
  } catch {
    // It is made later: its folder says where.
  }
  try {
    return path.join(fs.realpathSync(path.dirname(place)), path.basename(place));
  } catch {
    return place; // checkWritable says what is wrong with it
  }
}

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
