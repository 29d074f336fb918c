/** The live tensors of a running process, from its answer to `snapshot`. */

import { NO_STACK, sourceStack } from '../analysis/sites';
import { SourceMaps } from '../code/source-maps';
import { type Row, snapshotOf } from './answers';
import type { Connection } from './connection';
import type { SiteFigures, Snapshot } from './figures';

const maps = new SourceMaps();

/** The limit on sites in native/audit/requests.cpp. */
const MAX_ROWS = 300;

/** Requests a snapshot and merges sites with the same source position. `complete`: no site was left out. */
export async function askSnapshot(connection: Connection): Promise<{ snapshot: Snapshot; complete: boolean }> {
  const { sites, ...figures } = snapshotOf(await connection.ask('snapshot'));
  return {
    snapshot: { version: 1, ...figures, sites: sites && merged(sites) },
    complete: (sites?.length ?? 0) < MAX_ROWS,
  };
}

export const takeSnapshot = async (connection: Connection): Promise<Snapshot> =>
  (await askSnapshot(connection)).snapshot;

function merged(rows: Row[]): SiteFigures[] {
  const sites = new Map<string, SiteFigures>();
  for (const { stack: raw, device, ...figures } of rows) {
    const stack = sourceStack(raw, maps);
    const frame = stack[0] ?? NO_STACK;
    const key = `${frame.file}:${frame.line}:${frame.column}`;
    const site = sites.get(key);
    if (site === undefined) {
      sites.set(key, { ...frame, stack, devices: [device], ...figures });
      continue;
    }
    site.devices = [...new Set([...site.devices, device])].sort();
    for (const figure of ['liveTensors', 'liveBytes', 'allocatedTensors', 'allocatedBytes'] as const)
      site[figure] += figures[figure];
  }
  return [...sites.values()].sort((a, b) => b.liveBytes - a.liveBytes || b.liveTensors - a.liveTensors);
}
