/** How many rounds a verdict needs. */
import type { RuleOptions } from './verdict';

export const MIN_WARMUP = 8;
/** Rounds that must follow the warm-up. */
export const MIN_ROUNDS = 10;

export function warmupRounds(rounds: number, options: RuleOptions = {}): number {
  return options.warmup ?? Math.max(MIN_WARMUP, Math.ceil(rounds / 4));
}

/** Whether a capture of this many rounds can be judged. */
export function enoughRounds(rounds: number, options: RuleOptions = {}): boolean {
  return rounds - warmupRounds(rounds, options) >= MIN_ROUNDS;
}

/** The least number of rounds that can be judged. */
export function roundsNeeded(options: RuleOptions = {}): number {
  if (options.warmup !== undefined) return options.warmup + MIN_ROUNDS; // it may be very large
  let rounds = MIN_ROUNDS;
  while (!enoughRounds(rounds, options)) rounds++;
  return rounds;
}
