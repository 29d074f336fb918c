/** A snapshot for people. */
import type { Snapshot } from '../attach/snapshot';
import { counted, formatBytes, formatCount, formatDuration } from '../units';
import { position } from './position';
import { renderTable } from './table';
import type { TextOptions } from './text';

const MOST_SITES = 20;

const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });

export function renderSnapshot(snapshot: Snapshot, { colors, folder, columns }: TextOptions): string {
  const { sites, devices } = snapshot;
  const lines = [
    `process ${snapshot.pid}: ${counted(snapshot.tensors, 'tensor')} on ${counted(snapshot.storages, 'storage')} ` +
      `${Math.round(snapshot.tensors) === 1 ? 'holds' : 'hold'} ${formatBytes(snapshot.bytes)}; RSS ${formatBytes(snapshot.rss)}`,
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
    lines.push(colors.dim(`No site is known: leak-audit attach ${snapshot.pid} records where tensors are made.`));
    return `${lines.join('\n')}\n`;
  }
  lines.push(...siteTable(snapshot, { colors, folder, columns }));
  const estimated = snapshot.mode === 'sample' ? '; figures of sites are estimates' : '';
  lines.push('', colors.dim(`recorded for ${formatDuration(snapshot.ms ?? 0)} (--mode ${snapshot.mode})${estimated}`));
  return `${lines.join('\n')}\n`;
}

function siteTable({ sites }: Snapshot, { colors, folder, columns }: TextOptions): string[] {
  const all = sites ?? [];
  const lines = renderTable(
    [right('live'), right('live bytes'), right('made', true), right('bytes', true), { title: 'site', align: 'left' }],
    all
      .slice(0, MOST_SITES)
      .map((site) => [
        formatCount(site.liveTensors),
        formatBytes(site.liveBytes),
        formatCount(site.allocatedTensors),
        formatBytes(site.allocatedBytes),
        position(site, folder) + (site.function === '' ? '' : colors.dim(` ${site.function}`)),
      ]),
    colors.dim,
    columns,
  );
  if (all.length > MOST_SITES) lines.push(colors.dim(`… and ${counted(all.length - MOST_SITES, 'more site')}`));
  return lines;
}
