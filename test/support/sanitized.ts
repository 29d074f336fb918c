/**
 * What `npm run test:asan` changes for tests: nothing but time, and resident memory, which holds the sanitizer's shadow
 * and the freed blocks that it keeps. Counts and bytes are judged there as everywhere. The run lists what differs.
 */
import { appendFileSync } from 'node:fs';

/** The file that lists what was left unjudged; set in a run under the sanitizers. */
const unjudged = process.env.LTN_SANITIZED;
export const sanitized = unjudged !== undefined;

/** A time limit for what a slow machine, or a run under the sanitizers, takes many times longer for. */
export const limitMs = (ordinary: number): number => Number(process.env.LTN_TIME_FACTOR ?? 1) * ordinary;

/**
 * How often a loop runs that is so long only to make a slow growth of resident memory visible: a tenth under the
 * sanitizers, which judge each round and not that memory.
 */
export function rounds(ordinary: number): number {
  if (!sanitized) return ordinary;
  leaveOut(`${ordinary / 10} rounds instead of ${ordinary}`);
  return ordinary / 10;
}

function leaveOut(what: string): void {
  appendFileSync(unjudged!, `${expect.getState().currentTestName}: ${what}\n`);
}

/** `expect` for a figure of resident memory. Under the sanitizers the figure is written down instead of judged. */
export function expectResident(megabytes: number): { toBeLessThan(limit: number): void } {
  return {
    toBeLessThan(limit) {
      if (sanitized) leaveOut(`resident memory, ${Math.round(megabytes)} MB where less than ${limit} is asked`);
      else expect(megabytes).toBeLessThan(limit);
    },
  };
}

/** The environment of a child that is to run without the sanitizers: its work is not what they are to look into. */
export function ordinaryEnv(): NodeJS.ProcessEnv {
  const { LD_PRELOAD, LIBTORCH_NODE_ADDON, ...ordinary } = process.env;
  return sanitized ? ordinary : { ...process.env };
}

/** The environment of a child that SIGBUS is to end, as it ends any process: the sanitizer would report it instead. */
export const busErrorEnv = (): NodeJS.ProcessEnv =>
  sanitized ? { ...process.env, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS}:handle_sigbus=0` } : { ...process.env };

/** What a child said on stderr, without the sanitizer's word on each allocation that it refused, as it was told to. */
export const ownWords = (stderr: string): string =>
  sanitized ? stderr.replace(/^==.*WARNING: AddressSanitizer failed to allocate 0x[0-9a-f]+ bytes\n/gm, '') : stderr;
