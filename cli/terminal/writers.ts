/** The only module that writes to stdout and stderr, so that all text is escaped for terminals. */
import * as fs from 'node:fs';
import { isColored } from './colors';
import { forTerminal } from './printable';

/** Writes results to stdout. */
export function print(text: string): void {
  process.stdout.write(forTerminal(text, isColored(process.stdout)));
}

/** Writes messages to stderr. */
export function printError(text: string): void {
  process.stderr.write(forTerminal(text, isColored(process.stderr)));
}

/** Writes a binary format to stdout. */
export function sendBytes(bytes: Uint8Array): void {
  process.stdout.write(bytes);
}

/** Writes lines with control sequences around them, for the full-screen view. */
export function writeScreen(before: string, lines: readonly string[] = [], after = ''): void {
  const colored = isColored(process.stdout);
  const text = lines.map((line) => forTerminal(line.replaceAll('\n', ' '), colored));
  process.stdout.write(`${before}${text.join(`\r\n${before === '' ? '' : CLEAR_LINE}`)}${after}`);
}

/** Clears to the end of the line. */
export const CLEAR_LINE = '\x1b[K';

/** Writes synchronously, for the exit of the process. */
export function writeScreenNow(sequence: string): void {
  try {
    fs.writeSync(process.stdout.fd, sequence);
  } catch {
    // The terminal is gone.
  }
}
