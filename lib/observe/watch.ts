/**
 * Observers of this thread's tensors inside the program (TensorLogger, libtorch-node/pprof, LIBTORCH_NODE_DEBUG), and the
 * stacks for them. The native table records births only while there are observers (native/handles/watch.h).
 */
import type { Demand, Labels, WatchNative } from '../addon/recorder';
import { frameText, stackText } from './audit/positions';
import { captureStack, type Frame, type Stack } from './audit/stack';

const DEPTH = 16;
/** The limit of the native side; further stacks are unknown. */
const MAX_SITES = 10_000;

/** Site ids of this environment, by labels (undefined: none) and the key of the stack. */
const siteIds = new Map<Labels | undefined, Map<number, number>>();
let siteCount = 0;
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

/** Whether there are observers. */
export const isWatched = (native: WatchNative): boolean => demandsOf(native).size > 0;

/** Whether an observer tells sites apart by labels. */
export function wantsLabels(native: WatchNative): boolean {
  for (const demand of demandsOf(native)) if (demand.labels === true) return true;
  return false;
}

/** Tags the tensors that wait for their stack. `labels`: the same object for the same labels. */
export function tagWatched(native: WatchNative, stack: Stack, labels: Labels | undefined): void {
  if (isWatched(native)) native.watchTag(siteOf(native, stack, wantsLabels(native) ? labels : undefined));
}

/** The site of a stack; 0 if there are too many to remember. */
function siteOf(native: WatchNative, { key, frames }: Stack, labels?: Labels): number {
  if (siteEpoch !== (native.watchEpoch ?? 0)) {
    siteIds.clear();
    siteCount = 0;
    siteEpoch = native.watchEpoch ?? 0;
  }
  let ids = siteIds.get(labels);
  if (ids === undefined) {
    ids = new Map();
    siteIds.set(labels, ids);
  }
  let id = ids.get(key);
  if (id === undefined) {
    if (siteCount >= MAX_SITES) return 0;
    const list = frames();
    id = native.watchDefineSite(JSON.stringify(labels === undefined ? list : { frames: list, labels }));
    ids.set(key, id);
    siteCount++;
  }
  return id;
}

/** The site of the caller of `below`. */
export function callerSite(native: WatchNative, below: (...args: never[]) => unknown): number {
  return siteOf(native, captureStack(DEPTH, below));
}

/** The frames of a site without source maps, innermost first, and its labels; undefined if it is unknown. */
export function siteFacts(native: WatchNative, site: number): { frames: Frame[]; labels?: Labels } | undefined {
  const text = native.watchSite(site);
  if (text === '') return undefined;
  const facts = JSON.parse(text) as Frame[] | { frames: Frame[]; labels: Labels };
  return Array.isArray(facts) ? { frames: facts } : facts;
}

/** Its frames; none if it is unknown. */
export const framesOf = (native: WatchNative, site: number): Frame[] => siteFacts(native, site)?.frames ?? [];

/** The stack of a site as text, or null if it is unknown. */
export function siteText(native: WatchNative, site: number): string | null {
  return stackText(framesOf(native, site)) || null;
}

/** Its innermost frame. */
export function siteLine(native: WatchNative, site: number): string | null {
  const [frame] = framesOf(native, site);
  return frame === undefined ? null : frameText(frame);
}
