/**
 * Who looks at this thread's tensors from inside the program (TensorLogger, LIBTORCH_NODE_DEBUG), and the stacks they
 * see. The native table notes births only while somebody asks for them (native/handles/watch.h).
 */
import { frameText, stackText } from './audit/positions';
import { captureStack, type Frame, type Stack } from './audit/stack';

/** What one looker needs. */
export interface Demand {
  /** Mean distance in bytes between two tensors whose stack is taken; 0 for every tensor. */
  readonly sampleBytes: number;
  /** Whether ends are noted too. */
  readonly deaths: boolean;
}

/** What the addon offers (native/internals/watch.cpp). One per environment. */
export interface WatchNative {
  watchConfigure(on: boolean, sampleBytes: number, deaths: boolean): void;
  watchDefineSite(json: string): number;
  watchSite(site: number): string;
  watchTag(site: number): void;
  watchAnnounce(cause: number, site: number): void;
  watchDeath(handle: number): [born: number, cause: number, freed: number] | undefined;
  watchRead(): { tensors: Float64Array; storages: Float64Array; devices: string[] };
  /** From how many bytes on a new storage is large; negative: none is. */
  watchLarge(bytes: number): void;
  /** Handles of tensors with large new storages, since the last call. */
  watchTakeLarge(): Float64Array;
  /** Shared by all copies of the library over this addon. */
  watchDemands?: Set<Demand>;
  /** How often nobody looked any more, and the native side forgot its sites. */
  watchEpoch?: number;
}

const DEPTH = 16;
/** As the native side: one stack more is unknown. */
const MAX_SITES = 10_000;

/** Sites of this environment: a stack's key to its site id. */
const siteIds = new Map<number, number>();
let siteEpoch = 0;

const demandsOf = (native: WatchNative) => (native.watchDemands ??= new Set());

function configure(native: WatchNative): void {
  const demands = [...demandsOf(native)];
  const sampleBytes = Math.min(...demands.map((demand) => demand.sampleBytes));
  native.watchConfigure(
    demands.length > 0,
    demands.length > 0 ? sampleBytes : 0,
    demands.some((demand) => demand.deaths),
  );
}

export function watch(native: WatchNative, demand: Demand): void {
  demandsOf(native).add(demand);
  configure(native);
}

export function unwatch(native: WatchNative, demand: Demand): void {
  if (!demandsOf(native).delete(demand)) return;
  configure(native);
  if (!isWatched(native)) native.watchEpoch = (native.watchEpoch ?? 0) + 1;
}

/** Whether anybody looks. */
export const isWatched = (native: WatchNative): boolean => demandsOf(native).size > 0;

/** Gives the tensors that wait for their stack this one. */
export function tagWatched(native: WatchNative, stack: Stack): void {
  if (isWatched(native)) native.watchTag(siteOf(native, stack));
}

/** The site of a stack, 0 when there are too many to remember. */
function siteOf(native: WatchNative, { key, frames }: Stack): number {
  if (siteEpoch !== (native.watchEpoch ?? 0)) {
    siteIds.clear();
    siteEpoch = native.watchEpoch ?? 0;
  }
  let id = siteIds.get(key);
  if (id === undefined) {
    if (siteIds.size >= MAX_SITES) return 0;
    id = native.watchDefineSite(JSON.stringify(frames()));
    siteIds.set(key, id);
  }
  return id;
}

/** The site of whoever called `below`. */
export function callerSite(native: WatchNative, below: (...args: never[]) => unknown): number {
  return siteOf(native, captureStack(DEPTH, below));
}

/** The frames of a site as V8 has them, innermost first; none when it is unknown. */
export const framesOf = (native: WatchNative, site: number): Frame[] =>
  JSON.parse(native.watchSite(site) || '[]') as Frame[];

/** The stack of a site as text, or null when it is unknown. */
export function siteText(native: WatchNative, site: number): string | null {
  return stackText(framesOf(native, site)) || null;
}

/** Its innermost frame. */
export function siteLine(native: WatchNative, site: number): string | null {
  const [frame] = framesOf(native, site);
  return frame === undefined ? null : frameText(frame);
}
