/**
 * Does calling a function again and again leave tensors behind that a collection does not free? The calls are made in
 * rounds; after each one everything that can be collected is, and what is left is counted, by the line that made it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import * as timers from 'node:timers';
import { collectAll } from '../collector';
import { argumentError, codedError } from '../errors';
import { native } from '../native';
import { isOptions, unknownOption } from '../options';
import { type Demand, unwatch, watch } from '../watch';
import { grows, rises } from './floor';
import { type LeakHolder, whoHolds } from './held';
import { countNow, type Held, handlesNow, type Look, look, type SiteHeld } from './look';
import { type Place, placeOf } from './places';

export interface LeakOptions {
  /** Calls that are measured (default 20). */
  iterations?: number;
  /** Calls before, which may fill caches (default 5). */
  warmup?: number;
  /** How long, in ms, what a call left running may take to let go before it is called a leak (default 250). */
  settleMs?: number;
  /**
   * Whether a check that fails also says who holds the tensors (default true). It takes a heap snapshot: about a second for
   * 100 MB of heap.
   */
  why?: boolean;
}

/** Tensors that are left, by the line that made them. */
export interface LeakSite extends Place {
  /** How many there are more than before the measured calls, */
  readonly tensors: number;
  /** and their bytes; a storage counts at the oldest of its tensors. */
  readonly bytes: number;
  /** How many of them an open scope owns. The others something in JavaScript can still reach. */
  readonly inScopes: number;
  /** One of them, such as 'float32[2, 3]'. */
  readonly example: string;
}

export interface TensorLeaks {
  /** Whether the calls leak. */
  readonly leaks: boolean;
  /** Calls that were measured, and in how many rounds with a collection after each. */
  readonly iterations: number;
  readonly rounds: number;
  /** Live tensors after the calls less those before, and their bytes. What neither was disposed of nor could be collected. */
  readonly tensors: number;
  readonly bytes: number;
  /** What libtorch holds more than before and no tensor shows, such as graphs; null while other threads have tensors. */
  readonly hiddenBytes: number | null;
  /** What the calls left to the collector and it freed when it was asked: no leak. At least so many; it may have run before. */
  readonly awaitingCollection: { readonly tensors: number; readonly bytes: number };
  /** The lines whose tensors add up, most bytes first; empty without a leak. */
  readonly sites: readonly LeakSite[];
  /** Who holds them, where a check failed and it could be told; most bytes first. */
  readonly heldBy?: readonly LeakHolder[];
}

type Options = Required<LeakOptions>;

/** So many rounds tell a leak from what is made once; each costs a collection. */
const MAX_ROUNDS = 8;

/** Taken when the library is loaded: a test may put clocks of its own in their place. */
const { setImmediate, setTimeout } = timers;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const checks: { [Name in Exclude<keyof Options, 'why'>]: [least: number, byDefault: number] } = {
  iterations: [1, 20],
  warmup: [0, 5],
  settleMs: [0, 250],
};

function checked(fn: string, given: LeakOptions): Options {
  if (!isOptions(given)) throw argumentError(fn, 'options', 'an object', given);
  const { why = true } = given;
  if (typeof why !== 'boolean') throw argumentError(fn, 'why', 'a boolean', why);
  const options = { why } as Options;
  for (const name of Object.keys(given)) {
    if (name !== 'why' && !Object.hasOwn(checks, name))
      throw unknownOption(fn, 'options', name, [...Object.keys(checks), 'why']);
  }
  for (const [name, [least, byDefault]] of Object.entries(checks) as [keyof typeof checks, [number, number]][]) {
    const value = given[name] ?? byDefault;
    if (!Number.isInteger(value) || value < least)
      throw argumentError(fn, name, `an integer of ${least} or more`, value);
    options[name] = value;
  }
  return options;
}

/** A function of its own, so that nothing here keeps what a call returned. */
async function call(fn: () => unknown): Promise<void> {
  await fn();
}

const looksSame = (a: Look, b: Look) =>
  a.tensors === b.tensors && a.bytes === b.bytes && a.hiddenBytes === b.hiddenBytes;

/** Everything that can be collected is: finalizers run during the collection; promises and weak references need a turn. */
async function collected(older: ReadonlySet<number>): Promise<Look> {
  await turn();
  collectAll();
  return look(older);
}

/** The same, until a collection finds nothing; at once where no more is left than `before`. */
async function settled(older: ReadonlySet<number>, before?: Look): Promise<Look> {
  let now = await collected(older);
  for (let tries = 0; (before === undefined || hasMore(now, before)) && tries < 3; tries++) {
    const last = now;
    now = await collected(older);
    if (looksSame(now, last)) break;
  }
  return now;
}

const hasMore = (now: Look, before: Look) =>
  now.tensors > before.tensors || now.bytes > before.bytes || (now.hiddenBytes ?? 0) > (before.hiddenBytes ?? 0);

type Figure = (look: Look) => number;
const risesIn = (looks: readonly Look[], figure: Figure) => rises(looks.map(figure));

/** What is younger than the measurement counts too: something older that goes meanwhile must not hide that it adds up. */
const addsUp = (looks: readonly Look[], what: keyof Held) =>
  risesIn(looks, (at) => at[what]) || (risesIn(looks, (at) => at.young[what]) && grows(looks.map((at) => at[what])));

function hiddenRises(looks: readonly Look[]): boolean {
  if (looks.some(({ hiddenBytes }) => hiddenBytes === null)) return false;
  // What libtorch holds has to rise too: tensors over memory that is not libtorch's (a mapped file) may have gone.
  return risesIn(looks, (at) => at.hiddenBytes!) && risesIn(looks, (at) => at.allocatedBytes);
}

const isLeak = (looks: readonly Look[]) => addsUp(looks, 'tensors') || addsUp(looks, 'bytes') || hiddenRises(looks);

/** The lines whose tensors add up; where none does by itself, all that have more than before. */
function sitesOf(looks: readonly Look[]): LeakSite[] {
  const numbers = new Set(looks.flatMap(({ sites }) => [...sites.keys()]));
  const places = new Map<string, { place: Place; numbers: number[] }>();
  for (const number of numbers) {
    const place = placeOf(number);
    const key = `${place.file}:${place.line}:${place.column}`;
    const known = places.get(key);
    if (known === undefined) places.set(key, { place, numbers: [number] });
    else known.numbers.push(number);
  }
  const none: SiteHeld = { tensors: 0, bytes: 0, inScopes: 0, example: '' };
  const first = looks[0]!;
  const last = looks[looks.length - 1]!;
  const all = [...places.values()].map(({ place, numbers }) => {
    const sum = (at: Look, what: 'tensors' | 'bytes' | 'inScopes') =>
      numbers.reduce((total, number) => total + (at.sites.get(number) ?? none)[what], 0);
    const site: LeakSite = {
      ...place,
      tensors: sum(last, 'tensors') - sum(first, 'tensors'),
      bytes: sum(last, 'bytes') - sum(first, 'bytes'),
      inScopes: sum(last, 'inScopes') - sum(first, 'inScopes'),
      example: numbers.map((number) => last.sites.get(number)?.example ?? '').find((text) => text !== '') ?? '',
    };
    const adds = risesIn(looks, (at) => sum(at, 'tensors')) || risesIn(looks, (at) => sum(at, 'bytes'));
    return { site, adds };
  });
  const adding = all.filter(({ adds }) => adds);
  const shown = adding.length > 0 ? adding : all.filter(({ site }) => site.tensors > 0 || site.bytes > 0);
  return shown.map(({ site }) => site).sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
}

const heldBy = (all: LeakHolder[] | undefined) => (all === undefined ? {} : { heldBy: all });

/** Every tensor has its stack taken. */
const demand = (): Demand => ({ sampleBytes: 0, deaths: false });

async function measure(
  fn: () => unknown,
  { iterations, warmup, settleMs, why }: Options,
  fails: boolean,
): Promise<TensorLeaks> {
  const own = demand();
  const older = handlesNow();
  watch(native, own);
  try {
    for (let i = 0; i < warmup; i++) await call(fn);
    const looks = [await settled(older)];
    const rounds = Math.min(MAX_ROUNDS, iterations);
    const awaiting: Held = { tensors: 0, bytes: 0 };
    for (let round = 0, done = 0; round < rounds; round++) {
      for (const end = Math.round(((round + 1) * iterations) / rounds); done < end; done++) await call(fn);
      const left = countNow();
      // What a round has too much does not matter: the floor is what counts. But the last one's does.
      const now = round < rounds - 1 ? await collected(older) : await settled(older, looks[0]);
      awaiting.tensors += Math.max(0, left.tensors - now.tensors);
      awaiting.bytes += Math.max(0, left.bytes - now.bytes);
      looks.push(now);
    }
    for (let waited = 0, step = 10; waited < settleMs && isLeak(looks); waited += step, step *= 2) {
      await pause(Math.min(step, settleMs - waited));
      looks[rounds] = await collected(older);
    }
    const leaks = isLeak(looks);
    const first = looks[0]!;
    const last = looks[rounds]!;
    const more = (what: keyof Held) => {
      const all = last[what] - first[what];
      return leaks ? Math.max(all, last.young[what] - first.young[what]) : all;
    };
    return {
      leaks,
      iterations,
      rounds,
      tensors: more('tensors'),
      bytes: more('bytes'),
      hiddenBytes:
        first.hiddenBytes === null || last.hiddenBytes === null ? null : last.hiddenBytes - first.hiddenBytes,
      awaitingCollection: awaiting,
      sites: leaks ? sitesOf(looks) : [],
      ...(leaks && why && fails ? heldBy(await whoHolds(older)) : {}),
    };
  } finally {
    unwatch(native, own);
  }
}

/** Whether code runs inside a call that is measured. */
const measuring = new AsyncLocalStorage<true>();
/** One measurement at a time: it counts all tensors of the thread. */
let queue: Promise<unknown> = Promise.resolve();

/** What the exported functions and the matcher do; `name` is theirs, for messages. `fails`: a leak is a failure. */
export function measured(name: string, fn: unknown, given: LeakOptions, fails: boolean): Promise<TensorLeaks> {
  if (typeof fn !== 'function') throw argumentError(name, 'fn', 'a function to call', fn);
  const options = checked(name, given);
  if (measuring.getStore()) {
    throw codedError(Error, 'ERR_TORCH_ARGUMENT', `${name}: called by a function that is being measured itself`);
  }
  const begin = () => measuring.run(true, () => measure(fn as () => unknown, options, fails));
  const result = queue.then(begin, begin);
  queue = result.catch(() => {});
  return result;
}
