/** Renders the view of `live` as lines that fit the terminal. */

import { isInventory } from '../analysis/sites';
import { sparkline } from '../reporters/live';
import { noSites, siteText } from '../reporters/snapshot';
import type { Colors } from '../terminal/colors';
import { cutEnd } from '../terminal/size';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount, formatDuration } from '../terminal/units';
import { type LiveSite, type LiveState, siteKey } from './state';

export const SORTS = ['bytes', 'tensors', 'rate'] as const;
export type Sort = (typeof SORTS)[number];

const HISTORY = 16;
/** Rates are averages over this many updates. */
const RATE_UPDATES = 5;
/** Growth is measured over this many updates: garbage makes shorter times rise and fall. */
const GROWTH_UPDATES = 60;
/** Fewer show only noise. */
const MIN_GROWTH_UPDATES = 3;
const MINUTE = 60_000;

interface Moment {
  state: LiveState;
  made: Map<string, LiveSite>;
}

/** The last updates. */
export class History {
  readonly bytes: number[] = [];
  readonly tensors: number[] = [];
  private readonly moments: Moment[] = [];
  private readonly live: { ms: number; bytes: Map<string, number>; complete: boolean }[] = [];

  add(state: LiveState): void {
    const last = this.moments.at(-1);
    if (last !== undefined && state.ms === last.state.ms) return;
    if (last !== undefined && state.ms < last.state.ms) this.moments.length = this.live.length = 0; // a new recording
    this.bytes.push(state.bytes);
    this.tensors.push(state.tensors);
    for (const values of [this.bytes, this.tensors]) if (values.length > HISTORY) values.shift();
    this.moments.push({ state, made: new Map(state.sites.map((site) => [siteKey(site), site])) });
    if (this.moments.length > RATE_UPDATES) this.moments.shift();
    const bytes = new Map(state.sites.map((site) => [siteKey(site), site.liveBytes]));
    this.live.push({ ms: state.ms, bytes, complete: state.complete });
    if (this.live.length > GROWTH_UPDATES) this.live.shift();
  }

  /** Live bytes that a site gained per minute over the last updates; null if unknown. */
  growth(site: LiveSite): number | null {
    const key = siteKey(site);
    const known = this.live.filter(({ bytes, complete }) => complete || bytes.has(key));
    const [first, last] = [known[0], known.at(-1)];
    if (first === undefined || last === undefined || known.length < MIN_GROWTH_UPDATES || last.ms <= first.ms)
      return null;
    return ((site.liveBytes - (first.bytes.get(key) ?? 0)) / (last.ms - first.ms)) * MINUTE;
  }

  get state(): LiveState | undefined {
    return this.moments.at(-1)?.state;
  }

  /** Made per second, in total or by one site; null if unknown. */
  rate(site?: LiveSite): { tensors: number; bytes: number } | null {
    const last = this.moments.at(-1);
    const key = site && siteKey(site);
    // The totals of a site are unknown for updates that did not include it.
    const first = this.moments.find(({ state, made }) => key === undefined || state.complete || made.has(key));
    const seconds = ((last?.state.ms ?? 0) - (first?.state.ms ?? 0)) / 1000;
    if (first === undefined || last === undefined || seconds <= 0) return null;
    const per = (now: number, before: number) => Math.max(0, now - before) / seconds;
    if (site !== undefined) {
      if (isInventory(site)) return null; // existed before the recording
      const before = first.made.get(siteKey(site));
      return {
        tensors: per(site.allocatedTensors, before?.allocatedTensors ?? 0),
        bytes: per(site.allocatedBytes, before?.allocatedBytes ?? 0),
      };
    }
    const [now, before] = [last.state.made, first.state.made];
    return now && before && { tensors: per(now.tensors, before.tensors), bytes: per(now.bytes, before.bytes) };
  }
}

export interface ViewOptions {
  title: string;
  columns: number;
  rows: number;
  colors: Colors;
  folder: string;
  sort: Sort;
  paused: boolean;
  /** Why no more data will come. */
  ended: string | undefined;
  /** Why no data came for a while. */
  stalled?: string | undefined;
}

const HELP = 'sort: b bytes, t tensors, r rate   p pause   q quit';

export function renderView(history: History, options: ViewOptions): string[] {
  const { colors, columns, rows, title } = options;
  const { state } = history;
  const note = options.ended ?? (options.paused ? 'paused' : (options.stalled ?? ''));
  const time = state === undefined ? '' : `  ${formatDuration(state.ms)}`;
  const head = `${colors.bold('leak-audit live')}  ${title}${time}${note === '' ? '' : `  ${colors.yellow(note)}`}`;
  if (state === undefined) return cut([head, '', 'nothing recorded yet', '', colors.dim(HELP)], columns).slice(0, rows);
  const lines = [head, '', ...totals(history, state, options), ''];
  const room = Math.max(0, rows - lines.length - 3);
  lines.push(...siteLines(history, state, options, room), '', colors.dim(HELP));
  return cut(lines, columns).slice(0, rows);
}

/** With the value of the lowest bar, because the bars do not begin at zero. */
function bars(values: number[], format: (n: number) => string, colors: Colors): string {
  if (values.length === 0) return '';
  return `${colors.cyan(sparkline(values))} ${colors.dim(`from ${format(Math.min(...values))}`)}`;
}

function totals(history: History, state: LiveState, { colors }: ViewOptions): string[] {
  const rate = history.rate();
  const made = rate === null ? '' : `  made ${perSecond(rate.tensors)} tensors/s, ${formatBytes(rate.bytes)}/s`;
  const line = (name: string, value: string, rest: string) =>
    `${name.padEnd(9)}${value.padStart(11)}  ${rest}`.trimEnd();
  const devices = state.devices.filter(({ tensors, bytes }) => tensors > 0 || bytes > 0);
  return [
    line('tensors', formatCount(state.tensors), `${bars(history.tensors, formatCount, colors)}${made}`),
    line('live', formatBytes(state.bytes), bars(history.bytes, formatBytes, colors)),
    line('libtorch', formatBytes(state.allocatedBytes), 'held by its allocators'),
    line('rss', formatBytes(state.rss), state.processes === 1 ? 'the process' : 'the processes'),
    ...(state.processes > 1 || state.unread > 0
      ? [line('processes', formatCount(state.processes), unreadNote(state.unread))]
      : []),
    ...devices.map(({ device, tensors, bytes }) => line(`  ${device}`, formatBytes(bytes), counted(tensors, 'tensor'))),
  ];
}

function unreadNote(unread: number): string {
  if (unread === 0) return 'the program and its children';
  return `${formatCount(unread)} more ${unread === 1 ? 'is' : 'are'} not in these figures`;
}

const perSecond = (n: number) => (n < 10 ? n.toFixed(1) : formatCount(n));

function siteLines(history: History, state: LiveState, options: ViewOptions, room: number): string[] {
  const { colors, folder, columns, sort } = options;
  if (state.sites.length === 0) return [colors.dim(noSites(state.mode))];
  const rates = new Map(state.sites.map((site) => [site, history.rate(site)]));
  const weight = {
    bytes: (site: LiveSite) => site.liveBytes,
    tensors: (site: LiveSite) => site.liveTensors,
    rate: (site: LiveSite) => rates.get(site)?.bytes ?? 0,
  }[sort];
  const shown = [...state.sites].sort((a, b) => weight(b) - weight(a)).slice(0, Math.max(1, room - 1));
  const grows = shown.some((site) => Math.round(history.growth(site) ?? 0) !== 0);
  const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });
  const marked = (title: string, own: Sort) => (sort === own ? `${title}↓` : title);
  return renderTable(
    [
      right(marked('live', 'tensors')),
      right(marked('live bytes', 'bytes')),
      right('made/s', true),
      right(marked('bytes/s', 'rate'), true),
      ...(grows ? [right('growth/min', true)] : []),
      { title: 'site', align: 'left' },
    ],
    shown.map((site) => [
      formatCount(site.liveTensors),
      formatBytes(site.liveBytes),
      ...rateCells(rates.get(site) ?? null),
      ...(grows ? [growthCell(history.growth(site))] : []),
      siteText(site, folder, colors),
    ]),
    colors.dim,
    columns,
  );
}

const growthCell = (growth: number | null) => (growth === null || Math.round(growth) === 0 ? '-' : formatBytes(growth));

const rateCells = (rate: { tensors: number; bytes: number } | null) =>
  rate === null ? ['-', '-'] : [perSecond(rate.tensors), formatBytes(rate.bytes)];

const cut = (lines: string[], columns: number) => lines.map((line) => cutEnd(line, columns));
