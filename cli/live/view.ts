/** What `live` shows: lines that fit the terminal. */
import { stripVTControlCharacters } from 'node:util';
import type { Colors } from '../colors';
import { sparkline } from '../reporters/live';
import { position } from '../reporters/position';
import { renderTable } from '../reporters/table';
import { counted, formatBytes, formatCount, formatDuration } from '../units';
import type { LiveSite, LiveState } from './source';

export const SORTS = ['bytes', 'tensors', 'rate'] as const;
export type Sort = (typeof SORTS)[number];

const HISTORY = 16;
/** Over which rates are taken, in looks. */
const RATE_OVER = 5;

const keyOf = ({ file, line, column }: LiveSite) => `${file}:${line}:${column}`;

interface Moment {
  state: LiveState;
  made: Map<string, LiveSite>;
}

/** The last looks. */
export class History {
  readonly bytes: number[] = [];
  readonly tensors: number[] = [];
  private readonly moments: Moment[] = [];

  add(state: LiveState): void {
    const last = this.moments.at(-1);
    if (last !== undefined && state.ms === last.state.ms) return;
    if (last !== undefined && state.ms < last.state.ms) this.moments.length = 0; // another recording
    this.bytes.push(state.bytes);
    this.tensors.push(state.tensors);
    for (const values of [this.bytes, this.tensors]) if (values.length > HISTORY) values.shift();
    this.moments.push({ state, made: new Map(state.sites.map((site) => [keyOf(site), site])) });
    if (this.moments.length > RATE_OVER) this.moments.shift();
  }

  get state(): LiveState | undefined {
    return this.moments.at(-1)?.state;
  }

  /** Made per second, by all or by one site; null where that is not known. */
  rate(site?: LiveSite): { tensors: number; bytes: number } | null {
    const [first, last] = [this.moments[0], this.moments.at(-1)];
    const seconds = ((last?.state.ms ?? 0) - (first?.state.ms ?? 0)) / 1000;
    if (first === undefined || last === undefined || seconds <= 0) return null;
    const per = (now: number, before: number) => Math.max(0, now - before) / seconds;
    if (site !== undefined) {
      const before = first.made.get(keyOf(site));
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
  /** Why nothing more comes. */
  ended: string | undefined;
}

const HELP = 'sort: b bytes, t tensors, r rate   p pause   q quit';

export function renderView(history: History, options: ViewOptions): string[] {
  const { colors, columns, rows, title } = options;
  const { state } = history;
  const note = options.ended ?? (options.paused ? 'paused' : '');
  const time = state === undefined ? '' : `  ${formatDuration(state.ms)}`;
  const head = `${colors.bold('leak-audit live')}  ${title}${time}${note === '' ? '' : `  ${colors.yellow(note)}`}`;
  if (state === undefined) return cut([head, '', 'nothing is recorded yet', '', colors.dim(HELP)], columns);
  const lines = [head, '', ...totals(history, state, options), ''];
  const room = Math.max(0, rows - lines.length - 3);
  lines.push(...siteLines(history, state, options, room), '', colors.dim(HELP));
  return cut(lines, columns).slice(0, rows);
}

function totals(history: History, state: LiveState, { colors }: ViewOptions): string[] {
  const rate = history.rate();
  const made = rate === null ? '' : `  made ${perSecond(rate.tensors)} tensors/s, ${formatBytes(rate.bytes)}/s`;
  const line = (name: string, value: string, rest: string) =>
    `${name.padEnd(9)}${value.padStart(11)}  ${rest}`.trimEnd();
  const devices = state.devices.filter(({ tensors, bytes }) => tensors > 0 || bytes > 0);
  return [
    line('tensors', formatCount(state.tensors), `${colors.cyan(sparkline(history.tensors))}${made}`),
    line('live', formatBytes(state.bytes), colors.cyan(sparkline(history.bytes))),
    line('libtorch', formatBytes(state.allocatedBytes), 'held by its allocators'),
    line('rss', formatBytes(state.rss), 'the process'),
    ...devices.map(({ device, tensors, bytes }) =>
      line(`  ${device}`, formatBytes(bytes), counted(tensors, 'tensor')),
    ),
  ];
}

const perSecond = (n: number) => (n < 10 ? n.toFixed(1) : formatCount(n));

function siteLines(history: History, state: LiveState, options: ViewOptions, room: number): string[] {
  const { colors, folder, columns, sort } = options;
  if (state.sites.length === 0) return [colors.dim('no site is known (--mode counters)')];
  const rates = new Map(state.sites.map((site) => [site, history.rate(site)]));
  const weight = {
    bytes: (site: LiveSite) => site.liveBytes,
    tensors: (site: LiveSite) => site.liveTensors,
    rate: (site: LiveSite) => rates.get(site)?.bytes ?? 0,
  }[sort];
  const shown = [...state.sites].sort((a, b) => weight(b) - weight(a)).slice(0, Math.max(1, room - 1));
  const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });
  const marked = (title: string, own: Sort) => (sort === own ? `${title}↓` : title);
  return renderTable(
    [
      right(marked('live', 'tensors')),
      right(marked('live bytes', 'bytes')),
      right('made/s', true),
      right(marked('bytes/s', 'rate'), true),
      { title: 'site', align: 'left' },
    ],
    shown.map((site) => [
      formatCount(site.liveTensors),
      formatBytes(site.liveBytes),
      perSecond(rates.get(site)?.tensors ?? 0),
      formatBytes(rates.get(site)?.bytes ?? 0),
      position(site, folder) + (site.function === '' ? '' : colors.dim(` ${site.function}`)),
    ]),
    colors.dim,
    columns,
  );
}

/** Cut where they are longer; colours go with what is cut. */
function cut(lines: string[], columns: number): string[] {
  return lines.map((line) => {
    const plain = stripVTControlCharacters(line);
    return plain.length <= columns ? line : `${plain.slice(0, columns - 1)}…`;
  });
}
