/**
 * Observers of this thread's tensors inside the program (TensorLogger, libtorch-node/pprof, LIBTORCH_NODE_DEBUG), and the
 * stacks for them. The native table records births only while there are observers (native/handles/watch.h).
 */
import { frameText, stackText } from './audit/positions';
import { captureStack, type Frame, type Stack } from './audit/stack';

/** The requirements of one observer. */
export interface Demand {
  /** The mean distance in bytes between sampled stacks; 0 samples every tensor. */
  readonly sampleBytes: number;
  /** Whether releases are recorded too. */
  readonly deaths: boolean;
  /** Whether sites are told apart by the labels that were active there. */
  readonly labels?: boolean;
}

/** Labels of `torch.audit.label`: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** The addon's functions (native/internals/watch.cpp). One per environment. */
export interface WatchNative {
  watchConfigure(on: boolean, sampleBytes: number, deaths: boolean): void;
  watchDefineSite(json: string): number;
  watchSite(site: number): string;
  watchTag(site: number): void;
  watchAnnounce(cause: number, site: number): void;
  watchDeath(handle: number): [born: number, cause: number, freed: number] | undefined;
  watchRead(): { tensors: Float64Array; storages: Float64Array; devices: string[] };
  /** The size in bytes from which a new storage is large; negative: never. */
  watchLarge(bytes: number): void;
  /** Handles of tensors with large new storages, since the last call. */
  watchTakeLarge(): Float64Array;
  /** Shared by all copies of the library that use this addon. */
  watchDemands?: Set<Demand>;
  /** How often the last observer left, at which the native side forgets its sites. */
  watchEpoch?: number;
}

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
