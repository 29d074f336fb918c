/** The text of a leak report. */
import { printable } from '../libtorch/printable';
import type { LeakHolder } from './held';
import type { LeakSite, TensorLeaks } from './measure';

const MAX_SITES = 10;
const MAX_HOLDERS = 5;

const many = (count: number, what: string) => `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;

function siteText(site: LeakSite): string {
  const { tensors, bytes, inScopes, example, file, line, column } = site;
  const place = file === null ? 'an unknown line' : `${printable(file)}:${line}:${column}`;
  const made = site.function === '' ? place : `${printable(site.function)} (${place})`;
  const owners = [
    ...(inScopes > 0 ? [`${many(inScopes, 'tensor')} owned by a scope that is still open`] : []),
    ...(tensors > inScopes ? [`${many(tensors - inScopes, 'tensor')} still reachable from JavaScript`] : []),
  ];
  if (site.nodes !== undefined && tensors === 0 && bytes === 0)
    return `  an autograd graph that grew by ${many(site.nodes, 'node')}, carried by ${example || 'a tensor'} made at ${made}; detach() drops it`;
  const graph = site.nodes === undefined ? '' : `, with an autograd graph that grew by ${many(site.nodes, 'node')}`;
  return [
    `  ${many(tensors, 'tensor')}, ${many(bytes, 'byte')}, such as ${example}${graph}: made at ${made}`,
    ...(owners.length > 0 ? [`    not disposed: ${owners.join(', ')}`] : []),
  ].join('\n');
}

function holdersText(holders: readonly LeakHolder[]): string[] {
  const shown = holders
    .slice(0, MAX_HOLDERS)
    .map(({ path, tensors }) => `  held by ${path.map(printable).join(' → ')}: ${many(tensors, 'tensor')}`);
  const more = holders.length - MAX_HOLDERS;
  return more > 0 ? [...shown, `  and by ${many(more, 'other')}`] : shown;
}

/** Several lines: the totals, each line that made remaining tensors, and the garbage. */
export function leaksText(leaks: TensorLeaks): string {
  const { iterations, tensors, bytes, hiddenBytes, awaitingCollection: awaiting, sites } = leaks;
  const lines = [`${many(iterations, 'call')} left ${many(tensors, 'tensor')} and ${many(bytes, 'byte')} behind`];
  lines.push(...sites.slice(0, MAX_SITES).map(siteText));
  if (sites.length > MAX_SITES) lines.push(`  and ${many(sites.length - MAX_SITES, 'more line')}`);
  lines.push(...holdersText(leaks.heldBy ?? []));
  if (leaks.heldByUnknown !== undefined) lines.push(`  what holds them could not be read: ${leaks.heldByUnknown}`);
  if (leaks.leaks && hiddenBytes !== null && hiddenBytes > 0) {
    lines.push(
      `  ${many(hiddenBytes, 'byte')} are held by libtorch without a tensor: look for autograd graphs, or tokens of share(), that are kept alive`,
    );
  }
  if (awaiting.tensors > 0) {
    lines.push(
      `  awaiting collection, not a leak: ${many(awaiting.tensors, 'tensor')}, ${many(awaiting.bytes, 'byte')}, freed by a forced collection`,
    );
  }
  if (leaks.leaks) lines.push('  (a cache that is still filling looks the same: raise `warmup` until it is full)');
  return lines.join('\n');
}
