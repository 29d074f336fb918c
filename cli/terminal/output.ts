/** Writes to stdout, or to files that appear only when complete. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { UsageError } from '../errors/errors';
import { isCapture } from '../files/recorded';
import { writeWholeFile } from '../files/whole-file';
import { progress } from './progress';
import { terminalSize } from './size';
import { print, sendBytes } from './writers';

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

/** The same for an output that is not a capture: it must not replace one, as in `report --json a.ltna b.ltna`. */
export function checkOutput(file: string | undefined): void {
  checkWritable(file);
  if (file !== undefined && file !== '-' && isCapture(file))
    throw new UsageError(`cannot write ${file}: it is a capture, which would be lost. Name another file`);
}

/** Checks before a long run that the file can be created. */
export function checkWritable(file: string | undefined): void {
  if (file === undefined || file === '-') return;
  if (file === '') throw new UsageError("expected the name of a file to write, got ''");
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
