/** Holders without a path in the heap: open scopes, tokens, graphs, other threads, and tensors that V8 has not freed yet. */

import type { Facts } from './facts';
import type { Holder, Row } from './holder';
import type { Words } from './names';
import type { Sites } from './sites';

interface Sum {
  tensors: number;
  bytes: number;
  sites: Map<number, { tensors: number; bytes: number }>;
  scopes: Set<number>;
}

const newSum = (): Sum => ({ tensors: 0, bytes: 0, sites: new Map(), scopes: new Set() });

function add(sum: Sum, { bytes, site, scope }: Row): void {
  sum.tensors++;
  sum.bytes += bytes;
  sum.scopes.add(scope);
  const share = sum.sites.get(site) ?? { tensors: 0, bytes: 0 };
  sum.sites.set(site, { tensors: share.tensors + 1, bytes: share.bytes + bytes });
}

const many = (count: number, one: string, more = `${one}s`) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`;

/** `seen`: handles with a path in the heap. */
export function ownersOf(
  facts: Facts,
  rows: ReadonlyMap<number, Row>,
  seen: ReadonlySet<number>,
  sites: Sites,
  words: Words,
): Holder[] {
  const scopes = new Map<string, Sum>();
  const rest = newSum();
  for (const [handle, row] of rows) {
    if (!sites.isWanted(row.site)) continue;
    if (row.scope !== 0) {
      const place = placeOf(facts, row.scope, sites, words) ?? '';
      const sum = scopes.get(place) ?? newSum();
      add(sum, row);
      scopes.set(place, sum);
    } else if (!seen.has(handle)) add(rest, row);
  }
  const holders: Holder[] = [...scopes].map(([place, { tensors, bytes, sites: shares, scopes: all }]) => ({
    path: [
      `${many(all.size, 'scope that is still open', 'scopes that are still open')}${place === '' ? '' : `, opened at ${place}`}`,
      many(tensors, 'tensor'),
    ],
    tensors,
    bytes,
    ...(place === '' ? {} : { openedAt: place }),
    sites: sites.shares(shares),
  }));
  if (rest.tensors > 0) {
    holders.push({
      path: [
        'no path from JavaScript: running native code, or garbage that is not freed yet',
        many(rest.tensors, 'tensor'),
      ],
      tensors: rest.tensors,
      bytes: rest.bytes,
      sites: sites.shares(rest.sites),
    });
  }
  // Facts about the process are reported once, for the main thread.
  if (facts.thread !== 0 || !sites.isWanted(0)) return holders;
  if (facts.elsewhere.tensors > 0)
    holders.push({
      path: [
        'worker threads: run `leak-audit why PID` while they run to see what holds these',
        many(facts.elsewhere.tensors, 'tensor'),
      ],
      ...facts.elsewhere,
      sites: [],
    });
  if (facts.tokens > 0)
    holders.push({
      path: ['tokens of share()', `${many(facts.tokens, 'token')} not disposed of`],
      tensors: 0,
      bytes: 0,
      sites: [],
    });
  if (facts.graphs > 0 && facts.hiddenBytes > 0) {
    const path = [
      `autograd graphs of ${many(facts.graphs, 'tensor')} with a gradFn`,
      'memory that no tensor accounts for',
    ];
    holders.push({ path, tensors: 0, bytes: facts.hiddenBytes, sites: [] });
  }
  return holders;
}

function placeOf(facts: Facts, scope: number, sites: Sites, words: Words): string | undefined {
  const frame = sites.top(facts.openings.get(scope) ?? []);
  return frame === undefined ? undefined : words.written(frame);
}
