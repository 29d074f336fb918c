/** A snapshot as text. */

import { isInventory } from '../analysis/sites';
import type { Snapshot } from '../attach/figures';
import type { Frame } from '../capture/records';
import type { Colors } from '../terminal/colors';
import { printable } from '../terminal/printable';
import { cutEnd } from '../terminal/size';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount, formatDuration } from '../terminal/units';
import type { TextOptions } from '../wording/options';
import { position } from '../wording/position';

const MAX_SITES = 20;

const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });

export function renderSnapshot(snapshot: Snapshot, { colors, folder, columns }: TextOptions): string {
  const { sites, devices } = snapshot;
  const lines = [
    ...headLines(snapshot, columns),
    '',
    ...renderTable(
      [
        { title: 'device', align: 'left' },
        right('tensors'),
        right('storages', true),
        right('live bytes'),
        right('held by libtorch'),
        right('peak'),
      ],
      devices.map((device) => [
        device.device,
        formatCount(device.tensors),
        formatCount(device.storages),
        formatBytes(device.bytes),
        formatBytes(device.allocatedBytes),
        formatBytes(device.peakAllocatedBytes),
      ]),
      colors.dim,
      columns,
    ),
    '',
  ];
  if (sites === null) {
    lines.push(colors.dim(`No sites: leak-audit attach ${snapshot.pid} records where tensors are made.`));
    return textOf(lines, columns);
  }
  lines.push(...siteTable(snapshot, { colors, folder, columns }));
  const estimated = snapshot.mode === 'sample' ? '; figures per site are estimates' : '';
  lines.push('', colors.dim(`recorded for ${formatDuration(snapshot.ms ?? 0)} (--mode ${snapshot.mode})${estimated}`));
  return textOf(lines, columns);
}

const textOf = (lines: string[], columns = Number.POSITIVE_INFINITY) =>
  `${lines.map((line) => cutEnd(line, columns)).join('\n')}\n`;

function headLines({ pid, tensors, storages, bytes, rss }: Snapshot, columns = Number.POSITIVE_INFINITY): string[] {
  const held = `${counted(tensors, 'tensor')} on ${counted(storages, 'storage')} ${tensors === 1 ? 'holds' : 'hold'}`;
  const lines = [`process ${pid}: ${held} ${formatBytes(bytes)}`, `RSS ${formatBytes(rss)}`];
  const one = lines.join('; ');
  return one.length <= columns ? [one] : lines;
}

/** Position and function of a site. Escaped, because the program chose the names. */
export const siteText = (site: Frame, folder: string, colors: Colors): string =>
  printable(position(site, folder)) + (site.function === '' ? '' : colors.dim(` ${printable(site.function)}`));

export const noSites = (mode: string | null): string =>
  mode === 'counters' ? 'no sites (--mode counters)' : 'no tensor was made yet';

function siteTable({ sites, mode }: Snapshot, { colors, folder, columns }: TextOptions): string[] {
  const all = sites ?? [];
  if (all.length === 0) return [colors.dim(noSites(mode))];
  const lines = renderTable(
    [right('live'), right('live bytes'), right('made', true), right('bytes', true), { title: 'site', align: 'left' }],
    all
      .slice(0, MAX_SITES)
      .map((site) => [
        formatCount(site.liveTensors),
        formatBytes(site.liveBytes),
        ...(isInventory(site) ? ['-', '-'] : [formatCount(site.allocatedTensors), formatBytes(site.allocatedBytes)]),
        siteText(site, folder, colors),
      ]),
    colors.dim,
    columns,
  );
  if (all.length > MAX_SITES) lines.push(colors.dim(`… and ${counted(all.length - MAX_SITES, 'more site')}`));
  return lines;
}
