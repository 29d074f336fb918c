/**
 * Measures whether repeated calls of a function leave tensors behind that a collection does not free. The calls are made in
 * rounds; after each round, garbage is collected and the remaining tensors are counted by the line that made them.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import * as timers from 'node:timers';
import { native } from '../addon/native';
import { isOptions, unknownOption } from '../addon/options';
import type { Demand } from '../addon/recorder';
import { argumentError, codedError } from '../errors/errors';
import { collectAll, finishCompilations } from '../memory/collector';
import { unwatch, watch } from '../observe/watch';
import { grows, rises } from './floor';
import { type LeakHolder, whoHolds } from './held';
import { countNow, type Held, handlesNow, type Look, look, type SiteHeld } from './look';
import { Measurement } from './measurement';
import { type Place, placeOf } from './places';

export interface LeakOptions {
  /** The number of measured calls (default 20). */
  iterations?: number;
  /** Unmeasured calls before, which may fill caches (default 5). */
  warmup?: number;
  /** How long, in ms, work that a call left running may take to release its tensors (default 250). */
  settleMs?: number;
  /**
   * Whether a failed check also reports what holds the tensors (default true). This takes a heap snapshot: about a second
   * for 100 MB of heap.
   */
  why?: boolean;
}

/** Remaining tensors of one line. */
export interface LeakSite extends Place {
  /** The increase over the measured calls. */
  readonly tensors: number;
  /** The increase in bytes; a storage counts at its oldest tensor. */
  readonly bytes: number;
  /** How many of them an open scope owns. The others are still reachable from JavaScript. */
  readonly inScopes: number;
  /** An example, such as 'float32[2, 3]'. */
  readonly example: string;
  /** The increase of the autograd graph that a tensor of this line carries, in nodes, if that leaks. */
  readonly nodes?: number;
}

export interface TensorLeaks {
  /** Whether the calls leak. */
  readonly leaks: boolean;
  /** The number of measured calls, and of rounds, each followed by a collection. */
  readonly iterations: number;
  readonly rounds: number;
  /** The increase of live tensors that were neither disposed nor collectable, and its bytes. */
  readonly tensors: number;
  readonly bytes: number;
  /** The increase of bytes that libtorch holds without a tensor, such as in graphs; null if other threads have tensors. */
  readonly hiddenBytes: number | null;
  /** The increase of nodes of autograd graphs that live tensors carry; null while ops of the pool run. */
  readonly nodes: number | null;
  /** Tensors freed by the forced collections, which are not leaks. A lower bound: V8 may have collected earlier. */
  readonly awaitingCollection: { readonly tensors: number; readonly bytes: number };
  /** The lines whose tensors accumulate, most bytes first; empty without a leak. */
  readonly sites: readonly LeakSite[];
  /** What holds them, if a check failed and it could be determined; most bytes first. */
  readonly heldBy?: readonly LeakHolder[];
  /** Why that could not be determined, such as for lack of a descriptor or of a permission. */
  readonly heldByUnknown?: string;
}

type Options = Required<LeakOptions>;

/** Enough rounds to distinguish a leak from one-time allocations; each may take a collection. */
const MAX_ROUNDS = 8;

/** Captured when the library is loaded: a test may install fake timers. */
const { setImmediate, setTimeout } = timers;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
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

const looksSame = (a: Look, b: Look) =>
  a.tensors === b.tensors && a.bytes === b.bytes && a.hiddenBytes === b.hiddenBytes && a.nodes === b.nodes;

/** Collects garbage. Finalizers run during the collection; promises and weak references need a turn first. */
async function collected(older: ReadonlySet<number>): Promise<Look> {
  await nextTurn();
  finishCompilations();
  collectAll();
  return look(older);
}

/** Repeats that until a collection frees nothing; returns early if no more is left than `before`. */
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
  now.tensors > before.tensors ||
  now.bytes > before.bytes ||
  (now.hiddenBytes ?? 0) > (before.hiddenBytes ?? 0) ||
  (now.nodes ?? 0) > (before.nodes ?? 0);

/**
 * After a round that is not the last: without a collection, which takes long in a large heap, if nothing is left of the calls and
 * all figures are those of the `first` look, which followed collections. Then there is no garbage that they could include.
 */
async function afterRound(older: ReadonlySet<number>, first: Look): Promise<Look> {
  await nextTurn();
  const now = look(older);
  const isClean = now.nodes !== null && now.young.tensors === 0 && looksSame(now, first);
  return isClean ? now : collected(older);
}

type Figure = (look: Look) => number;
const risesIn = (looks: readonly Look[], figure: Figure) => rises(looks.map(figure));

/** Also tests tensors younger than the measurement alone: older ones that are freed meanwhile must not hide a leak. */
const accumulates = (looks: readonly Look[], what: keyof Held) =>
  risesIn(looks, (at) => at[what]) || (risesIn(looks, (at) => at.young[what]) && grows(looks.map((at) => at[what])));

function hiddenRises(looks: readonly Look[]): boolean {
  if (looks.some(({ hiddenBytes }) => hiddenBytes === null)) return false;
  // libtorch's total must rise too: tensors over foreign memory (a mapped file) may have been freed.
  return risesIn(looks, (at) => at.hiddenBytes!) && risesIn(looks, (at) => at.allocatedBytes);
}

/** A graph need not hold bytes that libtorch counts: its nodes are in the process's heap. */
const nodesRise = (looks: readonly Look[]) =>
  looks.every(({ nodes }) => nodes !== null) && risesIn(looks, (at) => at.nodes!);

const isLeak = (looks: readonly Look[]) =>
  accumulates(looks, 'tensors') || accumulates(looks, 'bytes') || hiddenRises(looks) || nodesRise(looks);

/** The lines whose tensors accumulate; if no single line does, all lines that have more than before. */
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
    const isGrowing = risesIn(looks, (at) => sum(at, 'tensors')) || risesIn(looks, (at) => sum(at, 'bytes'));
    return { site, isGrowing };
  });
  const growing = all.filter(({ isGrowing }) => isGrowing);
  const shown = growing.length > 0 ? growing : all.filter(({ site }) => site.tensors > 0 || site.bytes > 0);
  const found = shown.map(({ site }) => site).sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
  if (!nodesRise(looks)) return found;
  const nodes = last.nodes! - first.nodes!;
  const at = found.findIndex((site) => isAt(site, placeOf(last.carrier)));
  if (at >= 0) return found.map((site, i) => (i === at ? { ...site, nodes } : site));
  // The largest graph is that of a tensor from before, and may be as large as it was: others have grown.
  if (last.isCarrierOlder && growing.length > 0) return found;
  const example = last.sites.get(last.carrier)?.example ?? '';
  return [...found, { ...placeOf(last.carrier), tensors: 0, bytes: 0, inScopes: 0, example, nodes }];
}

const isAt = (site: Place, place: Place) =>
  site.file === place.file && site.line === place.line && site.column === place.column;

/** Captures the stack of every tensor. */
const demand = (): Demand => ({ sampleBytes: 0, deaths: false });

async function measure(
  fn: () => unknown,
  { iterations, warmup, settleMs, why }: Options,
  fails: boolean,
  measurement: Measurement,
): Promise<TensorLeaks> {
  const own = demand();
  const older = handlesNow();
  watch(native, own);
  try {
    for (let i = 0; i < warmup; i++) await measurement.call(fn);
    const looks = [await settled(older)];
    const rounds = Math.min(MAX_ROUNDS, iterations);
    const awaiting: Held = { tensors: 0, bytes: 0 };
    for (let round = 0, done = 0; round < rounds; round++) {
      for (const end = Math.round(((round + 1) * iterations) / rounds); done < end; done++) await measurement.call(fn);
      const left = countNow();
      // Excess after a round does not matter, because the floor counts, except after the last round.
      const now = round < rounds - 1 ? await afterRound(older, looks[0]!) : await settled(older, looks[0]);
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
      nodes: first.nodes === null || last.nodes === null ? null : last.nodes - first.nodes,
      awaitingCollection: awaiting,
      sites: leaks ? sitesOf(looks) : [],
      ...(leaks && why && fails ? await whoHolds(older) : {}),
    };
  } finally {
    unwatch(native, own);
  }
}

/** Set inside a measured call. */
const measuring = new AsyncLocalStorage<true>();

/** Implements the exported functions and the matcher; `name` is theirs, for messages. `fails`: a leak is a failure. */
export function measured(name: string, fn: unknown, given: LeakOptions, fails: boolean): Promise<TensorLeaks> {
  if (typeof fn !== 'function') throw argumentError(name, 'fn', 'a function to call', fn);
  const options = checked(name, given);
  if (measuring.getStore()) {
    throw codedError(
      TypeError,
      'ERR_TORCH_ARGUMENT',
      `${name}: expected a call outside measured functions, got one inside`,
    );
  }
  const measurement = new Measurement(name);
  return measurement.run(() => measuring.run(true, () => measure(fn as () => unknown, options, fails, measurement)));
}
