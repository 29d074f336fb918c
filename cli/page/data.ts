/** The data of a page besides the report: series of sites, stacks, ages. Bounded, because it is embedded in the page. */
import { Redaction, redactReport, redactStacks } from '../analysis/redact';
import type { Report, SiteReport } from '../analysis/report';
import { deviceMatches, groupByPosition, totalOf } from '../analysis/sites';
import { stackTotals } from '../analysis/stacks';
import { byLabel, type LabelTotals, labelNames } from '../capture/by-label';
import type { Capture } from '../capture/capture';
import { extremes } from '../capture/condense';
import type { Frame, LiveTensor, Mark, Series, Tick } from '../capture/records';
import { position } from '../wording/position';
import { type Ages, BoundedAges, exactAges } from './ages';
import { type Flame, flameOf } from './flame';
import { type HiddenMemory, hiddenMemory } from './hidden';
import { shortNames } from './names';
import { type Ranges, rangesOf } from './ranges';

/** A band of the stacked timeline: one site, or all others together. */
export interface Band {
  /** Short, with the line: a legend cuts long names. */
  name: string;
  /** The whole position. */
  title: string;
  verdict: SiteReport['verdict'] | 'other';
  bytes: number[];
}

export interface Timeline {
  ms: number[];
  live: number[];
  allocated: number[];
  heap: number[];
  rss: number[];
  /** In the order of the sites, leaks first. */
  bands: Band[];
  marks: Mark[];
  /** Since when leaks grow, where they did not grow before. */
  onsets: Mark[];
}

/** What was made in each part of the capture, and what of it is still live. */
export interface Births {
  ms: number[];
  made: number[];
  live: number[];
}

/** Of the same site and shape, the oldest stands for all. */
export interface OldTensor extends LiveTensor {
  site: string;
  /** How many there are; of more than MAX_LIVE live tensors, among the oldest MAX_COMPARED. */
  count: number;
  /** Whether the last full collection that began after its birth reached its object; undefined if a scope holds it. */
  reached: boolean | undefined;
}

export interface PageData {
  report: Report;
  timeline: Timeline;
  /** Live bytes of the first sites at the timeline's points, by the site's number in the report. */
  histories: Map<number, number[]>;
  flame: Flame;
  ranges: Ranges;
  /** Undefined if little is hidden. */
  hidden: HiddenMemory | undefined;
  ages: Ages;
  /** Undefined if the capture has no individual tensors. */
  oldest: OldTensor[] | undefined;
  /** Undefined if the capture has no individual tensors. */
  births: Births | undefined;
  labels: { name: string; rows: LabelTotals[]; more: number }[];
}

export interface PageOptions {
  device?: string;
  redactSources?: boolean;
  /** Paths below it are shown relative to it. */
  folder: string;
}

/** A chart has not more pixels. */
const MAX_POINTS = 480;
const MAX_BANDS = 8;
/** Bands below this share of the peak are not visible. */
const MIN_BAND = 1 / 400;
const MAX_OLDEST = 25;
/** Of more live tensors, only the oldest are compared to group them. */
const MAX_LIVE = 2 ** 18;
const MAX_COMPARED = 2000;
const BIRTH_BINS = 120;
const MAX_HISTORIES = 300;
const MAX_LABELS = 4;
const MAX_VALUES = 25;
/** More names would overlap. */
const MAX_MARKS = 60;

const keyOf = (frame: Frame) => `${frame.file}\0${frame.line}\0${frame.column}`;

/** Positions as the page shows them. */
interface Names {
  readonly frame: (frame: Frame) => Frame;
  /** Of a frame that is shown already. */
  readonly place: (frame: Frame) => string;
  /** The position with the function. */
  readonly title: (frame: Frame) => string;
}

function namesOf(redaction: Redaction | undefined, folder: string): Names {
  const frame = (own: Frame) => redaction?.frame(own) ?? own;
  const place = (shown: Frame) => position(shown, folder);
  return { frame, place, title: (own) => `${place(frame(own))} ${frame(own).function}`.trim() };
}

export function pageData(
  capture: Capture,
  report: Report,
  options: PageOptions,
  redaction = options.redactSources ? new Redaction() : undefined,
): PageData {
  const names = namesOf(redaction, options.folder);
  // Redacted names are numbered in the order of the report.
  const shown = redaction === undefined ? report : redactReport(report, redaction);
  const stacks = stackTotals(capture, options);
  const ofDevice = (device: string) => deviceMatches(device, options.device);
  const wanted = [...capture.series.values()].filter((series) => ofDevice(series.device));
  const grouped = groupByPosition(capture, wanted);
  const groups: Groups = new Map(grouped.map((group) => [keyOf(group.frame), group]));
  const points = pointsOf(capture);
  const hasDetail = capture.details.some(({ live }) => live.size > 0);
  const { peaks, ages } = peaksOf(capture, report, groups, points);
  const order = bandsOf(report, peaks);
  const histories = historiesOf(capture, report, groups, order, points);
  const bands = namedBands(report, order, histories, names);
  const shownStacks = redaction === undefined ? stacks : redactStacks(stacks, redaction);
  const { flame, framesOf } = flameOf(shownStacks, names.place);
  const originals = new Map(stacks.map((stack, i) => [stack, shownStacks[i]!]));
  const ticks = points.map((i) => capture.ticks[i]!);
  return {
    report: shown,
    timeline: timelineOf(ticks, bands, shown.marks, onsetsOf(report, order, bands)),
    histories,
    flame,
    ranges: rangesOf(
      capture,
      report,
      grouped,
      stacks,
      (stack) => framesOf(originals.get(stack)!),
      (site) => groups.get(keyOf(site)),
    ),
    hidden: hiddenMemory(capture, grouped, points, options, names.frame, names.place),
    ages: hasDetail ? exactAges(capture, ofDevice) : ages,
    labels: options.device === undefined ? labelsOf(capture, redaction) : [],
    oldest: hasDetail ? oldestPerKind(shownTensors(capture, ofDevice, groups, names)) : undefined,
    births: hasDetail ? birthsOf(capture, wanted, ofDevice) : undefined,
  };
}

/** The series of each position, by keyOf. */
type Groups = Map<string, ReturnType<typeof groupByPosition>[number]>;

const seriesOf = (groups: Groups, site: SiteReport): Series[] =>
  groups.get(keyOf(site))?.members.map((member) => member.series) ?? [];

const liveOf = ({ ticks }: Capture, groups: Groups, site: SiteReport) =>
  totalOf(seriesOf(groups, site), ticks.length, (series) => series.liveBytes);

/** The most live bytes of each site at the points, and the ages of what is live. One site at a time, for the memory. */
function peaksOf(capture: Capture, report: Report, groups: Groups, points: number[]): { peaks: number[]; ages: Ages } {
  const bounded = new BoundedAges(capture);
  const peaks = report.sites.map((site) => {
    const live = liveOf(capture, groups, site);
    const allocated = totalOf(seriesOf(groups, site), live.length, (series) => series.allocatedBytes);
    bounded.add(live, allocated);
    return points.reduce((most, i) => Math.max(most, live[i]!), 0);
  });
  return { peaks, ages: bounded.ages };
}

/** Of the sites with a band, and of the first others. */
function historiesOf(
  capture: Capture,
  report: Report,
  groups: Groups,
  order: number[],
  points: number[],
): PageData['histories'] {
  const histories: PageData['histories'] = new Map();
  for (const i of new Set([...order, ...report.sites.keys()].slice(0, MAX_HISTORIES))) {
    const live = liveOf(capture, groups, report.sites[i]!);
    const history = points.map((point) => live[point]!);
    histories.set(i, history);
  }
  return histories;
}

function namedBands(report: Report, order: number[], histories: PageData['histories'], names: Names): Band[] {
  const short = shortNames(order.map((i) => names.frame(report.sites[i]!)));
  return order.map((i, k) => {
    const site = report.sites[i]!;
    return { name: short[k]!, title: names.title(site), verdict: site.verdict, bytes: histories.get(i)! };
  });
}

/** `bands` are those of the sites in `order`. */
function onsetsOf(report: Report, order: number[], bands: Band[]): Mark[] {
  return order.flatMap((i, k) => {
    const { onsetMs, verdict } = report.sites[i]!;
    return onsetMs === null || verdict !== 'leak' ? [] : [{ ms: onsetMs, name: `${bands[k]!.name} grows` }];
  });
}

/** The oldest live tensors, the oldest first. */
function shownTensors(
  capture: Capture,
  ofDevice: (device: string) => boolean,
  groups: Groups,
  names: Names,
): OldTensor[] {
  const reached = reachedBy(capture);
  const sites = new Map<number, string>();
  for (const { frame, members } of groups.values())
    for (const { series } of members) sites.set(series.siteId, names.title(frame));
  return oldestOf(capture, ofDevice).map((tensor) => ({
    ...tensor,
    site: sites.get(tensor.siteId) ?? '',
    count: 1,
    reached: reached(tensor),
  }));
}

function oldestOf(capture: Capture, ofDevice: (device: string) => boolean): LiveTensor[] {
  const count = capture.details.reduce((sum, { live }) => sum + live.size, 0);
  if (count > MAX_LIVE) return capture.oldestTensors(MAX_COMPARED, ofDevice);
  const all = [...capture.liveTensors()].filter(({ device }) => ofDevice(device));
  return all.sort((a, b) => a.birthMs - b.birthMs);
}

/** One of each site and shape, the oldest first. Tensors of unknown shape are not compared. */
function oldestPerKind(tensors: OldTensor[]): OldTensor[] {
  const groups = new Map<string, OldTensor>();
  for (const [i, tensor] of tensors.entries()) {
    const { site, device, dtype, shape, isView, owner, scope, reached } = tensor;
    const kind = [site, device, dtype, shape?.join() ?? `? ${i}`, isView, owner, scope & 0xfffff, reached];
    const known = groups.get(kind.join('\0'));
    if (known === undefined) groups.set(kind.join('\0'), tensor);
    else known.count++;
  }
  return [...groups.values()].slice(0, MAX_OLDEST);
}

/** Of storages: bytes by the time of their allocation. */
function birthsOf(capture: Capture, wanted: Series[], ofDevice: (device: string) => boolean): Births {
  const { ticks, durationMs } = capture;
  const bins = Math.min(BIRTH_BINS, ticks.length);
  const empty = () => new Array<number>(bins).fill(0);
  const binOf = (ms: number) => Math.min(bins - 1, Math.max(0, Math.ceil((ms / Math.max(1, durationMs)) * bins) - 1));
  const [made, live] = [empty(), empty()];
  const allocated = totalOf(wanted, ticks.length, (series) => series.allocatedBytes);
  for (const [i, tick] of ticks.entries())
    made[binOf(tick.ms)]! += Math.max(0, allocated[i]! - (allocated[i - 1] ?? 0));
  capture.eachStorage(ofDevice, (birthMs, bytes) => {
    if (birthMs >= 0) live[binOf(birthMs)]! += bytes;
  });
  return { ms: made.map((_, i) => (durationMs * (i + 1)) / bins), made, live };
}

/** The first full collection that cannot reach its object frees a tensor of the collector. */
function reachedBy(capture: Capture): (tensor: LiveTensor) => boolean | undefined {
  // Unknown for joined processes, whose collections are separate.
  const last = capture.processes.length <= 1 ? (capture.ticks.at(-1)?.collectedMs ?? 0) : 0;
  return ({ owner, birthMs }) => {
    if (owner !== 'collector' && owner !== 'kept') return undefined;
    return birthMs < last;
  };
}

/** For all devices, because rows of labels are not separated by device. */
function labelsOf(capture: Capture, redaction: Redaction | undefined): PageData['labels'] {
  return labelNames(capture)
    .slice(0, MAX_LABELS)
    .map((name) => {
      const all = byLabel(capture, name);
      const rows = all.slice(0, MAX_VALUES);
      return {
        name: redaction?.labelName(name) ?? name,
        rows: redaction?.totals(rows) ?? rows,
        more: all.length - rows.length,
      };
    });
}

/** Indices of the rounds to draw, keeping peaks and troughs. */
function pointsOf({ ticks }: Capture): number[] {
  let points = [...ticks.keys()];
  while (points.length > MAX_POINTS) {
    points = extremes(points.map((i) => ticks[i]!)).map((k) => points[k]!);
  }
  return points;
}

/** Numbers of the sites with a band: every leak, and of the others those with most bytes. */
function bandsOf(report: Report, peaks: number[]): number[] {
  const leaks = (i: number) => Number(report.sites[i]!.verdict === 'leak');
  const least = MIN_BAND * report.summary.peakLiveBytes;
  return [...peaks.keys()]
    .filter((i) => peaks[i]! > 0 && (leaks(i) === 1 || peaks[i]! >= least))
    .sort((a, b) => leaks(b) - leaks(a) || peaks[b]! - peaks[a]!)
    .slice(0, MAX_BANDS);
}

function timelineOf(ticks: Tick[], bands: Band[], marks: Mark[], onsets: Mark[]): Timeline {
  const rest = ticks.map((tick, k) => Math.max(0, tick.bytes - bands.reduce((sum, band) => sum + band.bytes[k]!, 0)));
  const other: Band[] = rest.some((bytes) => bytes > 0)
    ? [{ name: 'all other sites', title: 'all other sites', verdict: 'other', bytes: rest }]
    : [];
  return {
    ms: ticks.map((tick) => tick.ms),
    live: ticks.map((tick) => tick.bytes),
    allocated: ticks.map((tick) => tick.allocatedBytes),
    heap: ticks.map((tick) => tick.heapUsed),
    rss: ticks.map((tick) => tick.rss),
    bands: [...bands, ...other],
    marks: marks.slice(0, MAX_MARKS),
    onsets,
  };
}
