/** The one place where text leaves for a terminal: everything that the commands say goes through here. */
import * as fs from 'node:fs';
import { isColored } from './colors';
import { forTerminal } from './printable';

/** To stdout: what was asked for. */
export function print(text: string): void {
  process.stdout.write(forTerminal(text, isColored(process.stdout)));
}

/** To stderr: what there is to say about it. */
export function printError(text: string): void {
  process.stderr.write(forTerminal(text, isColored(process.stderr)));
}

/** Bytes of a format that is no text, for another program. */
export function sendBytes(bytes: Uint8Array): void {
  process.stdout.write(bytes);
}

/** Control sequences of our own, with lines between them: for what has the terminal to itself. */
export function steer(before: string, lines: readonly string[] = [], after = ''): void {
  const colored = isColored(process.stdout);
  const text = lines.map((line) => forTerminal(line.replaceAll('\n', ' '), colored));
  process.stdout.write(`${before}${text.join(`\r\n${before === '' ? '' : CLEAR_LINE}`)}${after}`);
}

/** To the end of the line. */
export const CLEAR_LINE = '\x1b[K';

/** At the exit of the process, when nothing is written later. */
export function steerNow(sequence: string): void {
  try {
    fs.writeSync(process.stdout.fd, sequence);
  } catch {
    // The terminal is gone.
  }
}
