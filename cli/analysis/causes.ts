/** Known causes of a leak, as far as the capture proves them, each with its remedy. */
import type { Capture, Detail } from '../capture/capture';
import { itemBytes } from '../capture/format';
import type { TokenTotals } from '../capture/records';
import { calledName } from '../code/function-names';
import { SourceMaps } from '../code/source-maps';
import { linesAt } from '../code/text';
import { counted, formatBytes } from '../terminal/units';
import type { Cause, SiteReport } from './report';
import { type Group, lastOf, oldestOf, sourceStack, totalOf } from './sites';

/** Rows of live tensors that are looked at. */
const MAX_ROWS = 2 ** 20;
/** A view counts as holding a larger storage if the live tensors on the storage use at most this share of it. */
const MAX_USED_SHARE = 0.5;
/** A cause holds for a site if it holds for this share of its live tensors. */
const MIN_SHARE = 0.5;
/** A thread's end explains growth that began within this share of the capture around it. */
const MAX_GAP = 0.06;
/** Shares of the tensors made during the growth that a slow consumer has released. */
const RELEASED = { least: 0.05, most: 0.98 };
/** In a queue, about as many tensors live as were made since the birth of the oldest. */
const MAX_QUEUE_DIFFERENCE = 0.2;
/** Garbage looks like a queue, but is freed all at once. */
const MAX_FALL = 0.4;

/** For a gradient that carries a graph. */
export const GRADIENT_REMEDY =
  'use backward() without createGraph, zeroGrad({ setToNone: true }) after each step, or detach the gradient';

/** Fewer tensors with a graph may be in use. */
const MIN_GRAPHS = 8;

/** How much larger tensors are that become larger. */
const MIN_LARGER = 1.2;

/** What the live tensors of a site show. */
interface Live {
  tensors: number;
  /** Storages of its views. */
  bases: number;
  /** Views that alone keep a storage of which they use little, with their bytes and those of the storage. */
  pins: { own: number; base: number }[];
  owned: number;
  scopes: Set<number>;
  /** Tensors by the site that opened their scope. */
  openings: Map<number, number>;
}

/** `leaks`: the sites that leak, with their groups. `unseenBytes`: bytes of tensors that no site has, in older captures. */
export function addCauses(capture: Capture, leaks: { site: SiteReport; group: Group }[], unseenBytes: number): void {
  const evidence = liveOf(capture, leaks);
  const models = leaks.filter(({ site }) => isOfModels(site));
  if (models.length === 1 && models[0]!.site.liveBytes === 0) models[0]!.site.liveBytes = unseenBytes;
  for (const [i, { site, group }] of leaks.entries()) {
    const cause =
      graphCause(site) ??
      deadWorker(capture, site) ??
      (models.some((model) => model.site === site) ? modelCause(site) : undefined) ??
      liveCause(capture, evidence[i]!) ??
      tokenCause(capture, site, group) ??
      slowConsumer(capture, site, group) ??
      keptGraphs(capture, site, group) ??
      largerTensors(capture, site, group);
    if (cause !== undefined) site.cause = cause;
  }
}

function graphCause({ graph }: SiteReport): Cause | undefined {
  if (graph === null) return undefined;
  if (graph.onGradient)
    return { kind: 'graph', text: 'a gradient carries its autograd graph from step to step', remedy: GRADIENT_REMEDY };
  return {
    kind: 'graph',
    text: 'a value carries its autograd graph from step to step',
    remedy: 'use detach() or item()',
  };
}

/** Many tensors, each with a graph of its own: losses in a list, say. One value whose graph grows is `graph`. */
function keptGraphs({ graphs }: Capture, { liveTensors }: SiteReport, { members }: Group): Cause | undefined {
  const ids = [...new Set(members.map(({ series }) => series.siteId))];
  const last = (values: readonly number[] | undefined) => values?.at(-1) ?? 0;
  const all = ids.reduce((sum, id) => sum + last(graphs.get(id)?.tensors), 0);
  const withGraph = Math.min(all, liveTensors);
  const nodes = Math.max(0, ...ids.map((id) => last(graphs.get(id)?.nodes)));
  if (liveTensors < MIN_GRAPHS || withGraph < MIN_SHARE * liveTensors || nodes === 0) return undefined;
  return {
    kind: 'kept-graphs',
    text: `${counted(withGraph, 'tensor')} have an autograd graph, the largest of ${counted(nodes, 'node')}`,
    remedy: 'use detach() or item() before you keep a value',
  };
}

/** Not more tensors but larger ones. A value that is extended in each step looks like a program whose inputs grow. */
function largerTensors({ ticks }: Capture, site: SiteReport, { members }: Group): Cause | undefined {
  if (site.growthTensorsPerMinute > 0 || site.growthBytesPerMinute <= 0) return undefined;
  const all = members.map(({ series }) => series);
  const tensors = totalOf(all, ticks.length, ({ liveTensors }) => liveTensors);
  const bytes = totalOf(all, ticks.length, ({ liveBytes }) => liveBytes);
  const sizes = bytes.flatMap((sum, i) => (tensors[i]! > 0 ? [sum / tensors[i]!] : []));
  const quarter = Math.ceil(sizes.length / 4);
  const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  const [from, to] = [middle(sizes.slice(0, quarter)), middle(sizes.slice(-quarter))];
  if (from === 0 || to < MIN_LARGER * from) return undefined;
  return {
    kind: 'larger-tensors',
    text: `its tensors become larger, not more: from ${formatBytes(from)} to ${formatBytes(to)} each`,
    remedy:
      'do not extend a value without a limit; if the inputs grow on purpose, record the program while they do not',
  };
}

function liveOf({ details }: Capture, leaks: { group: Group }[]): Live[] {
  const numbers = new Map<number, number>();
  for (const [i, { group }] of leaks.entries()) for (const { series } of group.members) numbers.set(series.siteId, i);
  const found = leaks.map(
    (): Live => ({ tensors: 0, bases: 0, pins: [], owned: 0, scopes: new Set(), openings: new Map() }),
  );
  let rows = 0;
  for (const [process, detail] of details.entries()) {
    const { live } = detail;
    const storages = new Map<number, { site: number; base: number; used: number; own: number }>();
    const count = Math.min(live.size, MAX_ROWS - rows);
    rows += count;
    for (let row = 0; row < count; row++) {
      const birth = live.at(row);
      const site = numbers.get(detail.siteId(birth.siteId));
      if (site === undefined) continue;
      const one = found[site]!;
      one.tensors++;
      if (birth.owner === 'scope') one.owned++;
      if (birth.scope > 0) {
        one.scopes.add(process * 2 ** 32 + birth.scope);
        const opening = detail.openings.siteOf(birth.environment, birth.scope);
        if (opening !== undefined) {
          const id = detail.siteId(opening);
          one.openings.set(id, (one.openings.get(id) ?? 0) + 1);
        }
      }
      if (!birth.isView) continue;
      storages.set(birth.storage, { site, base: birth.bytes, used: 0, own: sizeOf(detail, birth) });
    }
    if (storages.size === 0) continue;
    for (let row = 0; row < count; row++) {
      const birth = live.at(row);
      const storage = storages.get(birth.storage);
      if (storage !== undefined) storage.used += sizeOf(detail, birth);
    }
    for (const { site, base, used, own } of storages.values()) {
      found[site]!.bases++;
      if (used <= MAX_USED_SHARE * base) found[site]!.pins.push({ own, base });
    }
  }
  return found;
}

/** The bytes of its elements; of the whole storage if its shape is unknown. */
function sizeOf(
  { shapes }: Detail,
  { shapeId, dtype, bytes }: { shapeId: number; dtype: number; bytes: number },
): number {
  const shape = shapes.get(shapeId);
  const item = itemBytes(dtype);
  return shape === undefined || item === undefined ? bytes : shape.reduce((n, size) => n * size, item);
}

/** The source position of a site. */
function placeOf(capture: Capture, siteId: number | undefined): Pick<Cause, 'place'> {
  const stack = siteId === undefined ? undefined : capture.stacks.get(siteId);
  const place = stack === undefined ? undefined : sourceStack(stack, new SourceMaps())[0];
  return place === undefined ? {} : { place: { ...place, function: calledName(place) } };
}

const most = <T>(all: Iterable<[T, number]>): T | undefined => [...all].sort((a, b) => b[1] - a[1])[0]?.[0];

function liveCause(capture: Capture, live: Live): Cause | undefined {
  const { tensors, bases, pins, owned, scopes, openings } = live;
  if (tensors === 0) return undefined;
  if (bases > 0 && pins.length >= MIN_SHARE * bases) {
    const middle = (values: number[]) => formatBytes(values.sort((a, b) => a - b)[values.length >> 1]!);
    const text = `${middle(pins.map(({ own }) => own))} views hold ${middle(pins.map(({ base }) => base))} storages`;
    return { kind: 'view-pins-base', text, remedy: 'keep a copy of the part: `.clone()`' };
  }
  if (owned < MIN_SHARE * tensors) return undefined;
  const open = scopes.size <= 1 ? 'a scope that never closed' : `${counted(scopes.size, 'scope')} that never closed`;
  return {
    kind: 'open-scope',
    text: `${counted(owned, 'tensor')} ${owned === 1 ? 'is' : 'are'} owned by ${open}`,
    remedy: 'close it: `using scope = torch.openScope()`, or let the function of `torch.scope` end',
    ...placeOf(capture, most(openings)),
  };
}

const LOADS = /\b(?:jit|inductor)\s*\.\s*load(?:Async|Package)?\s*\(/;

/** The line of the call shows that they are models. */
function isOfModels(site: SiteReport): boolean {
  if (site.liveTensors < 2) return false;
  return LOADS.test(linesAt(site.file, site.line, 0)[0]?.text ?? '');
}

function modelCause(site: SiteReport): Cause {
  const bytes = site.liveBytes > 0 ? `, ${formatBytes(site.liveBytes)} together` : '';
  return {
    kind: 'model-per-call',
    text: `${counted(site.liveTensors, 'model')} loaded here are kept${bytes}`,
    remedy: 'load the model once, outside the function that handles a request',
  };
}

/** Memory that tokens hold: counted, in captures that have it; else storages that no tensor and no graph holds. */
function tokenCause(capture: Capture, site: SiteReport, group: Group): Cause | undefined {
  const { graphs } = capture;
  if (site.hiddenBytes === 0 || site.hiddenGrowthBytesPerMinute === 0) return undefined;
  const ids = new Set(group.members.map(({ series }) => series.siteId));
  const shared = [...capture.tokens.values()].filter(({ origin }) => ids.has(origin));
  const tokens = shared.filter(({ waiting }) => waiting > 0);
  const sum = (value: (one: TokenTotals) => number) => tokens.reduce((total, one) => total + value(one), 0);
  const [waiting, bytes] = [sum((one) => one.waiting), sum((one) => one.waitingBytes)];
  const remedy = 'take each with `torch.fromShared`, or dispose it';
  if (waiting > 0 && bytes >= MIN_SHARE * site.hiddenBytes) {
    const [made, taken] = [sum((one) => one.made), sum((one) => one.taken)];
    return {
      kind: 'tokens',
      tokens: { made, taken, waiting, waitingBytes: bytes },
      text: `${waiting.toLocaleString('en-US')} of ${counted(made, 'token')} of \`share()\` ${waiting === 1 ? 'was' : 'were'} not taken and ${waiting === 1 ? 'holds' : 'hold'} ${formatBytes(bytes)}`,
      remedy,
      ...placeOf(capture, most(tokens.map((one) => [one.siteId, one.waitingBytes]))),
    };
  }
  const hasGraphs = [...graphs].some(([, { nodes }]) => (nodes.at(-1) ?? 0) > 0);
  // Tokens that were never taken and do not wait were disposed of, so they hold nothing.
  const taken = shared.filter((one) => one.taken > 0);
  if (hasGraphs || (capture.tokens.size > 0 && taken.length === 0)) return undefined;
  const storages = [...ids].reduce((all, id) => all + (graphs.get(id)?.hiddenStorages.at(-1) ?? 0), 0);
  const held = `${counted(storages, 'storage')} ${storages === 1 ? 'is' : 'are'} held by neither a tensor nor a graph`;
  if (taken.length === 0) return { kind: 'tokens', text: `${held}: \`share()\` tokens not taken`, remedy };
  return {
    kind: 'tokens',
    text: `${held}: probably \`share()\` tokens that were taken and are kept`,
    remedy: 'dispose each token that no thread takes any more',
    ...placeOf(capture, most(taken.map((one) => [one.siteId, one.taken]))),
  };
}

/** Its growth began when a worker thread ended. */
function deadWorker({ ended, ticks, stacks, environments, durationMs }: Capture, site: SiteReport): Cause | undefined {
  if (site.onsetMs === null) return undefined;
  const near = (round: number) => Math.abs((ticks[Math.max(0, round)]?.ms ?? 0) - site.onsetMs!);
  const [thread, round] =
    [...ended].filter(([, at]) => near(at) <= MAX_GAP * durationMs).sort((a, b) => near(a[1]) - near(b[1]))[0] ?? [];
  if (thread === undefined || round === undefined) return undefined;
  // Named by the outermost file of the lines that it made tensors at.
  const its = [...environments].filter(([, environment]) => environment === thread);
  const files = its.map(([id]) => (stacks.get(id) ?? []).filter(({ file }) => !file.startsWith('node:')).at(-1)?.file);
  return {
    kind: 'dead-worker',
    text: 'it grows since a worker thread ended',
    remedy: 'listen to its `exit` event, and start another or stop sending',
    worker: {
      thread: thread % 0x10000,
      file: files.find((file) => file !== undefined && file !== '') ?? '',
      ms: ticks[round]!.ms,
    },
  };
}

/** During the growth, tensors are released in the order of their birth, but more slowly than they are made. */
function slowConsumer(capture: Capture, site: SiteReport, group: Group): Cause | undefined {
  const { ticks, durationMs } = capture;
  const all = group.members.map(({ series }) => series);
  const made = totalOf(all, ticks.length, ({ allocatedTensors }) => allocatedTensors);
  const live = totalOf(all, ticks.length, ({ liveTensors }) => liveTensors);
  const end = lastOf(all, ({ liveTensors }) => liveTensors);
  if (end === 0 || site.sinceMs === null) return undefined;
  const onset = site.onsetMs === null ? -1 : ticks.findIndex(({ ms }) => ms >= site.onsetMs!);
  const madeSince = made.at(-1)! - (made[onset] ?? 0);
  const releasedSince = madeSince - (end - (live[onset] ?? 0));
  const share = releasedSince / madeSince;
  if (!(share >= RELEASED.least && share <= RELEASED.most) || !oldestMoves(capture, group, onset)) return undefined;
  const since = ticks.findIndex(({ ms }) => ms >= site.sinceMs!);
  const later = made.at(-1)! - (made[Math.max(0, since - 1)] ?? 0);
  if (since <= 0 || Math.abs(later - end) > Math.max(MAX_QUEUE_DIFFERENCE * end, made[since]! - made[since - 1]! + 1))
    return undefined;
  let fall = 0;
  for (let i = 1; i < live.length; i++) fall = Math.max(fall, live[i - 1]! - live[i]!);
  if (fall > MAX_FALL * end) return undefined;
  const perSecond = (n: number) => ((1000 * n) / Math.max(1, durationMs - (ticks[onset]?.ms ?? 0))).toFixed(1);
  return {
    kind: 'slow-consumer',
    text:
      `${perSecond(madeSince)} tensors per second are made and ${perSecond(releasedSince)} released, the oldest ` +
      'first: the producer outruns the consumer',
    remedy: 'bound the queue and wait when it is full',
  };
}

/**
 * Whether the oldest live tensor changes in the second and in the last third of the growth. The first third says nothing:
 * what became garbage before a leak began is still collected then.
 */
function oldestMoves({ ticks }: Capture, { members }: Group, onset: number): boolean {
  const all = members.map(({ series }) => series);
  const rounds = ticks.length - 1 - onset;
  const after = (thirds: number) => oldestOf(all, onset + 1 + Math.floor((thirds * rounds) / 3)) ?? Number.NaN;
  return after(2) > after(1) && after(3) > after(2);
}
