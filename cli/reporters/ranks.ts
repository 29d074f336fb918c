/** What each rank of a group holds, as text. */
import type { Report } from '../analysis/report';
import type { Colors } from '../terminal/colors';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount } from '../terminal/units';
import { barsFromZero } from '../wording/bars';
import { rankNames, skewText } from '../wording/ranks';

/** Further ranks are counted; those that differ most from the median are shown. */
const MAX_RANKS = 32;
const BARS = 24;

/** Empty if there are no ranks. */
export function rankLines({ ranks = [], missingRanks = [] }: Report, colors: Colors, columns?: number): string[] {
  if (ranks.length === 0) return [];
  const shown = [...ranks]
    .sort((a, b) => Math.abs(b.skewBytes) - Math.abs(a.skewBytes) || a.rank - b.rank)
    .slice(0, MAX_RANKS)
    .sort((a, b) => a.rank - b.rank);
  const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });
  const lines = renderTable(
    [
      right('rank'),
      right('live'),
      right('live bytes'),
      right('peak'),
      right('against the median'),
      right('libtorch', true),
      right('RSS', true),
      { title: 'live bytes over time', align: 'left' as const },
    ],
    shown.map((rank) => [
      String(rank.rank),
      formatCount(rank.liveTensors),
      formatBytes(rank.liveBytes),
      formatBytes(rank.peakLiveBytes),
      skewText(rank, ranks.length),
      formatBytes(rank.allocatedBytes),
      formatBytes(rank.rss),
      colors.cyan(barsFromZero(everyNth(rank.history))),
    ]),
    colors.dim,
    columns,
  );
  if (ranks.length > MAX_RANKS) lines.push(colors.dim(`and ${counted(ranks.length - MAX_RANKS, 'more rank')}`));
  if (missingRanks.length > 0) lines.push(colors.yellow(`there is no capture of ${rankNames(missingRanks)}`));
  return lines;
}

const everyNth = (values: number[]) => {
  const count = Math.min(BARS, values.length);
  return Array.from({ length: count }, (_, i) => values[Math.floor(((i + 1) * values.length) / count) - 1]!);
};
