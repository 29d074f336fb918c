/**
 * Where a series is judged that ends in silence or in a fall. What leaks is freed as well when the program ends: the last
 * timer is cleared, a server is closed, a module's variables become garbage. So memory that grew as long as tensors were
 * made, and fell only then, has not proved to be given back.
 */

/** A fall by at least this share of the most that lived. */
const FALL = 0.5;
/** What follows may be as long as this share of all rounds, or it is a phase of the program's life. */
const LONGEST_END = 1 / 3;
/** Up to this share, too little is known to say which of the two it is. */
const LONGEST_DOUBT = 2 / 3;
/** After the fall less is made than this share of what was made before, round by round. */
const QUIET = 0.25;

export interface FinalPhase {
  /** Rounds to judge: those before the end began. */
  rounds: number;
  /** What lived fell by half or more then. */
  fell: boolean;
  /** What followed is too long to be an end, and too short to be a phase of its own. */
  doubtful: boolean;
}

/**
 * `live`: what lived at each round; `work`: how many tensors the program had made until each. Undefined where the series
 * goes on to its end.
 */
export function finalPhase(live: readonly number[], work: readonly number[]): FinalPhase | undefined {
  const rounds = live.length;
  const fall = beforeFall(live);
  const last = lastWork(work);
  const fell = fall !== undefined && isQuiet(work, fall);
  const top = fell ? fall : last;
  if (top >= rounds - 1) return undefined;
  const after = (rounds - 1 - top) / rounds;
  if (after > LONGEST_DOUBT) return undefined;
  return { rounds: top + 1, fell, doubtful: after > LONGEST_END };
}

/** The last round before a fall that nothing followed; undefined where there is none. */
function beforeFall(live: readonly number[]): number | undefined {
  const most = live.reduce((a, b) => Math.max(a, b), 0);
  const least = live.at(-1)!;
  if (most === 0 || least > FALL * most) return undefined;
  let top = live.length - 1;
  while (live[top]! <= (most + least) / 2) top--;
  return top;
}

/** The last round in which a tensor was made. */
function lastWork(work: readonly number[]): number {
  let last = work.length - 1;
  while (last > 0 && work[last] === work[last - 1]) last--;
  return last;
}

/** Whether little is made after the round of the fall, measured by what was made before. */
function isQuiet(work: readonly number[], top: number): boolean {
  const after = work.length - 2 - top; // the round of the fall itself may have work of both
  if (after <= 0 || top === 0) return true;
  const before = (work[top]! - work[0]!) / top;
  return (work.at(-1)! - work[top + 1]!) / after < QUIET * before;
}
