/**
 * The effect of `npm run test:asan` on tests: only time, and resident memory, which includes the sanitizer's shadow and its
 * quarantine of freed blocks. Counts and bytes are checked as everywhere. The run lists the differences.
 */
import { appendFileSync } from 'node:fs';

/** The file that lists unchecked figures; set in a run under the sanitizers. */
const unjudged = process.env.LTN_SANITIZED;
export const sanitized = unjudged !== undefined;

/** A time limit, multiplied on a slow machine or under the sanitizers. */
export const limitMs = (ordinary: number): number => Number(process.env.LTN_TIME_FACTOR ?? 1) * ordinary;

/**
 * The iterations of a loop that is long only to reveal slow growth of resident memory: a tenth under the sanitizers, which
 * check each round instead of that memory.
 */
export function rounds(ordinary: number): number {
  if (!sanitized) return ordinary;
  leaveOut(`${ordinary / 10} rounds instead of ${ordinary}`);
  return ordinary / 10;
}

function leaveOut(what: string): void {
  appendFileSync(unjudged!, `${expect.getState().currentTestName}: ${what}\n`);
}

/** `expect` for a figure of resident memory. Under the sanitizers the figure is recorded instead of checked. */
export function expectResident(megabytes: number): { toBeLessThan(limit: number): void } {
  return {
    toBeLessThan(limit) {
      if (sanitized) leaveOut(`resident memory, ${Math.round(megabytes)} MB where less than ${limit} is asked`);
      else expect(megabytes).toBeLessThan(limit);
    },
  };
}

/** The environment of a child that is to run without the sanitizers: its work need not be checked. */
export function ordinaryEnv(): NodeJS.ProcessEnv {
  const { LD_PRELOAD, LIBTORCH_NODE_ADDON, ...ordinary } = process.env;
  return sanitized ? ordinary : { ...process.env };
}

/** The environment of a child that SIGBUS should end as usual, instead of the sanitizer reporting it. */
export const busErrorEnv = (): NodeJS.ProcessEnv =>
  sanitized ? { ...process.env, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS}:handle_sigbus=0` } : { ...process.env };

/** A child's stderr, without the sanitizer's remarks about refused allocations. */
export const ownWords = (stderr: string): string =>
  sanitized ? stderr.replace(/^==.*WARNING: AddressSanitizer failed to allocate 0x[0-9a-f]+ bytes\n/gm, '') : stderr;
