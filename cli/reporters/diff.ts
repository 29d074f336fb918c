/** The difference of two captures as text. */

import type { Change, Diff, SiteDiff } from '../analysis/diff';
import type { Colors } from '../terminal/colors';
import { renderTable } from '../terminal/table';
import { formatBytes, formatCount, formatDuration } from '../terminal/units';
import type { TextOptions } from '../wording/options';
import { position } from '../wording/position';

const MAX_SITES = 30;

const signed = (value: number, text: string) => (value > 0 ? `+${text}` : text);
const bytesChange = (bytes: number) => signed(bytes, formatBytes(bytes));

export function renderDiff(diff: Diff, options: TextOptions): string {
  const lines = ['', ...head(diff, options.colors), ''];
  const shown = diff.sites.filter((site) => site.change !== 'same');
  if (shown.length > 0) lines.push(...table(shown.slice(0, MAX_SITES), options));
  const hidden = shown.length - MAX_SITES;
  if (hidden > 0) lines.push(options.colors.dim(`… and ${formatCount(hidden)} more sites that changed`));
  if (diff.counts.same > 0) {
    lines.push(options.colors.dim(`${formatCount(diff.counts.same)} ${plural(diff.counts.same)} as before`));
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

const plural = (n: number) => (n === 1 ? 'site' : 'sites');

function head(diff: Diff, { bold, yellow }: Colors): string[] {
  const { a, b, counts, normalized } = diff;
  const parts = (['grown', 'new', 'shrunk', 'gone'] as const)
    .filter((change) => counts[change] > 0)
    .map((change) => `${formatCount(counts[change])} ${change}`);
  const after = a.liveBytes + diff.liveBytesChange;
  const lines = [
    `${bold(bytesChange(diff.liveBytesChange))}  Live bytes: ${formatBytes(a.liveBytes)} in A, ${formatBytes(after)} ` +
      `in B${normalized === null ? '' : ' (normalized)'}; sites: ${parts.join(', ') || 'none changed'}.`,
    `A: ${formatDuration(a.durationMs)} of ${a.command || 'nothing'}`,
    `B: ${formatDuration(b.durationMs)} of ${b.command || 'nothing'}`,
  ];
  if (normalized !== null) {
    lines.push(
      `Normalized by tensors made: ${formatCount(normalized.a)} in A, ${formatCount(normalized.b)} in B, so B's figures ` +
        `are multiplied by ${Number(normalized.factor.toPrecision(4))}.`,
    );
  }
  if (a.lostEvents + b.lostEvents > 0) lines.push(yellow('note: events were lost: the figures are too low'));
  return lines;
}

function table(sites: SiteDiff[], { colors, folder, columns }: TextOptions): string[] {
  const paint: Record<Change, (text: string) => string> = {
    grown: colors.red,
    new: colors.yellow,
    shrunk: colors.green,
    gone: colors.green,
    same: colors.dim,
  };
  const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });
  return renderTable(
    [
      { title: 'change', align: 'left' },
      right('live in A'),
      right('in B'),
      right('difference'),
      right('tensors', true),
      { title: 'verdict', align: 'left', optional: true },
      { title: 'site', align: 'left' },
    ],
    sites.map((site) => [
      paint[site.change](site.change),
      site.a === null ? '-' : formatBytes(site.a.liveBytes),
      site.b === null ? '-' : formatBytes(site.b.liveBytes),
      bytesChange(site.liveBytesChange),
      signed(site.liveTensorsChange, formatCount(site.liveTensorsChange)),
      verdicts(site),
      position(site, folder) +
        (site.function === '' ? '' : colors.dim(` ${site.function}`)) +
        (site.movedFrom === null ? '' : colors.dim(` (was ${site.movedFrom.line}:${site.movedFrom.column})`)),
    ]),
    colors.dim,
    columns,
  );
}

function verdicts({ a, b }: SiteDiff): string {
  if (a === null || b === null || a.verdict === b.verdict) return (b ?? a)!.verdict;
  return `${a.verdict} → ${b.verdict}`;
}
