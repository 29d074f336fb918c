/** Starts the built example's programs, and ends them. */
import * as path from 'node:path';
import type { Outcome } from '../support/child';
import { type Running, startProgram } from '../support/program';
import { ROOT } from '../support/torch';

export type { Outcome, Running };
export { ROOT };

const DIGITS = path.join(ROOT, 'dist/examples/digits');

export const start = (program: string, args: string[], variables: Record<string, string> = {}): Running =>
  startProgram(process.execPath, [path.join(DIGITS, program), ...args], { ...process.env, ...variables });

export const run = (program: string, args: string[]): Promise<Outcome> => start(program, args).ended;
