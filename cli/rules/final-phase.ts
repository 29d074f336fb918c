/**
 * Finds the final phase of a series, without activity or with a fall. Leaks are also freed when the program ends: the last
 * timer is cleared, a server is closed, a module's variables become garbage. So memory that grew while tensors were made,
 * and fell only then, may still have leaked.
 */

/** A fall is at least this share of the maximum. */
const MIN_FALL = 0.5;
/** The longest final phase, as a share of all rounds; a longer one is a phase of normal operation. */
const MAX_END_SHARE = 1 / 3;
/** Up to this share, an end cannot be distinguished from a phase of normal operation. */
const MAX_DOUBTFUL_SHARE = 2 / 3;
/** After the fall, the rate of new tensors is below this share of the rate before. */
const MAX_QUIET_RATE = 0.25;

export interface FinalPhase {
  /** Rounds to judge, those before the final phase. */
  rounds: number;
  /** The series fell by half or more then. */
  fell: boolean;
  /** The phase is too long to be the end and too short to be normal operation. */
  doubtful: boolean;
}

/**
 * `live`: the value at each round; `work`: how many tensors the program had made until each round. Undefined if there is no
 * final phase.
 */
export function finalPhase(live: readonly number[], work: readonly number[]): FinalPhase | undefined {
  const rounds = live.length;
  const fall = beforeFall(live);
  const last = lastWork(work);
  const fell = fall !== undefined && isQuiet(work, fall);
  // Where nothing is made any more, a fall of many rounds, such as of sessions that end one by one, began then.
  const isShort = (rounds - 1 - last) / rounds <= MAX_END_SHARE;
  const top = fell ? (isShort ? Math.min(fall, last) : fall) : last;
  if (top >= rounds - 1) return undefined;
  const after = (rounds - 1 - top) / rounds;
  if (after > MAX_DOUBTFUL_SHARE) return undefined;
  return { rounds: top + 1, fell, doubtful: after > MAX_END_SHARE };
}

/** The last round before a fall without recovery, however many rounds it takes; undefined if there is none. */
function beforeFall(live: readonly number[]): number | undefined {
  const most = live.reduce((a, b) => Math.max(a, b), 0);
  const least = live.at(-1)!;
  if (most === 0 || least > MIN_FALL * most) return undefined;
  let top = live.length - 1;
  while (live[top]! <= (most + least) / 2) top--;
  while (top > 0 && live[top - 1]! > live[top]!) top--;
  return top;
}

/** The last round in which a tensor was made. */
function lastWork(work: readonly number[]): number {
  let last = work.length - 1;
  while (last > 0 && work[last] === work[last - 1]) last--;
  return last;
}

/** Whether few tensors are made after the round of the fall, compared with before. */
function isQuiet(work: readonly number[], top: number): boolean {
  const after = work.length - 2 - top; // the round of the fall may belong to both phases
  if (after <= 0 || top === 0) return true;
  const before = (work[top]! - work[0]!) / top;
  return (work.at(-1)! - work[top + 1]!) / after < MAX_QUIET_RATE * before;
}
