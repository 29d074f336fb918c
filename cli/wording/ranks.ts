/** How the ranks of a group are named. */
import type { RankReport, SiteReport } from '../analysis/report';
import { formatBytes } from '../terminal/units';

const MAX_NAMED = 6;

/** `rank 3`, `ranks 0, 1 and 5`, `ranks 0, 1, 2, 3, 4, 5 and 2 more`; empty for none. */
export function rankNames(ranks: readonly number[]): string {
  if (ranks.length <= 1) return ranks.length === 0 ? '' : `rank ${ranks[0]}`;
  const named = ranks.slice(0, MAX_NAMED).map(String);
  const last = ranks.length > MAX_NAMED ? `${ranks.length - MAX_NAMED} more` : named.pop()!;
  return `ranks ${named.join(', ')} and ${last}`;
}

/** ` in rank 3`: where a site grows. Empty if its processes are not ranks, or none of them grew alone. */
export function growsIn({ ranks = [] }: SiteReport): string {
  const grown = ranks.filter(({ grownBytes, grownTensors }) => grownBytes > 0 || grownTensors > 0);
  const names = rankNames(grown.map(({ rank }) => rank).sort((a, b) => a - b));
  return names === '' ? '' : ` in ${names}`;
}

/** `+1.2 MiB`; of a single rank there is nothing to compare. */
export function skewText({ skewBytes }: RankReport, ranks: number): string {
  if (ranks < 2) return '-';
  return skewBytes === 0 ? '0 B' : `${skewBytes > 0 ? '+' : '-'}${formatBytes(Math.abs(skewBytes))}`;
}
