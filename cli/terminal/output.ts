/** Writes reports to stdout, or to files that appear only when complete. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redaction, redactReport } from '../analysis/redact';
import type { Report } from '../analysis/report';
import type { Capture } from '../capture/capture';
import { UsageError } from '../errors/errors';
import { writeWholeFile } from '../files/whole-file';
import { pageData } from '../page/data';
import { renderHtml } from '../reporters/html';
import { renderJson } from '../reporters/json';
import { renderText } from '../reporters/text';
import { renderWasm, withWasm } from '../reporters/wasm';
import { renderWhy, whyReport } from '../reporters/why';
import type { WasmReport } from '../wasm/report';
import type { Answer } from '../why/answer';
import { withHolders } from '../why/held';
import { colorsFor } from './colors';
import { printableAll } from './printable';
import { progress } from './progress';
import { terminalSize } from './size';
import { print, sendBytes } from './writers';

export interface ShowOptions {
  json?: string;
  html?: string;
  /** The device of the report. */
  device?: string;
  redactSources?: boolean;
  /** Also show the frames of libraries. */
  allFrames?: boolean;
  /** What holds the tensors, with `--why`. */
  held?: readonly Answer[];
  /** What `run --wasm` found. */
  foundWasm?: WasmReport;
}

/** Prints the report as text, or as JSON with `--json -`, and writes the other outputs. `redaction` replaces names by numbers. */
export function showReport(
  report: Report,
  capture: Capture,
  options: ShowOptions,
  redaction = options.redactSources ? new Redaction() : undefined,
): void {
  const folder = process.cwd();
  const { json, html } = options;
  const whole = options.held === undefined ? report : withHolders(report, options.held);
  const named = redaction === undefined ? whole : redactReport(whole, redaction);
  const { foundWasm: wasm } = options;
  const shown = wasm === undefined ? named : withWasm(named, wasm);
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
  // The sentence about tensors is left out if there is only WebAssembly.
  const isAlone = wasm !== undefined && wasm.sites.length > 0 && report.summary.insufficient === 'not-loaded';
  if (!isAlone)
    print(renderText(printableAll(named), { colors, folder, columns, allFrames: options.allFrames === true }));
  if (wasm !== undefined) print(renderWasm(printableAll(wasm), colors, folder));
  if (options.held !== undefined && redaction === undefined)
    print(`\nheld at the end by\n${renderWhy(printableAll(whyReport(options.held)), { colors, folder })}`);
}

/** Writes a file completely or not at all; '-' is stdout. A pipe or device is written to and not replaced. */
export function writeOutput(file: string, text: string | Buffer): void {
  if (file === '-') {
    progress.end();
    if (typeof text === 'string') print(text);
    else if (process.stdout.isTTY) throw new UsageError('this format is binary: name a file, or use a pipe');
    else sendBytes(text);
    return;
  }
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    writeInPlace(file, text);
    return;
  }
  try {
    writeWholeFile(file, text);
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

function writeInPlace(device: string, text: string | Buffer): void {
  try {
    const fd = fs.openSync(device, fs.constants.O_WRONLY | fs.constants.O_NOCTTY);
    try {
      // A file that replaced the device is not overwritten.
      if (fs.fstatSync(fd).isFile()) throw new UsageError(`cannot write ${device}: it was replaced by a file`);
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot write ${device}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

/** The width of the terminal; undefined if the stream is not a terminal. */
export const terminalColumns = (stream: { isTTY?: boolean; columns?: number }): number | undefined =>
  stream.isTTY === true ? terminalSize(stream).columns : undefined;

/** Rejects a file that is given for two options, such as the capture and an output. */
export function checkDistinct(files: Record<string, string | undefined>): void {
  const seen = new Map<string, string>();
  for (const [option, file] of Object.entries(files)) {
    if (file === undefined) continue;
    const place = file === '-' ? '-' : realPlace(file);
    const other = seen.get(place);
    const where = file === '-' ? 'stdout' : file;
    if (other !== undefined) throw new UsageError(`${other} and ${option} are both ${where}: expected different files`);
    seen.set(place, option);
  }
}

/** The same path for all names of a file, even if it does not exist yet. */
function realPlace(file: string): string {
  const place = path.resolve(file);
  try {
    return fs.realpathSync(place);
  } catch {
    // It does not exist yet: resolve its folder.
  }
  try {
    return path.join(fs.realpathSync(path.dirname(place)), path.basename(place));
  } catch {
    return place; // checkWritable reports the problem
  }
}

/** Checks before a long run that the file can be created. */
export function checkWritable(file: string | undefined): void {
  if (file === undefined || file === '-') return;
  const folder = path.dirname(path.resolve(file));
  try {
    fs.accessSync(folder, fs.constants.W_OK);
  } catch {
    throw new UsageError(`cannot write ${file}: ${folder} is not a writable folder`);
  }
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`cannot write ${file}: it is a folder`);
  }
}
