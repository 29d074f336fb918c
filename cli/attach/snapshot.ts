/** What lives in a running process, as it answers `snapshot`. */
import type { Frame } from '../capture/capture';
import { deviceName } from '../capture/format';
import { NO_STACK, sourceStack } from '../sites';
import { SourceMaps } from '../sourcemaps';
import type { Connection } from './connection';

export interface DeviceFigures {
  device: string;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
}

export interface SiteFigures extends Frame {
  stack: Frame[];
  devices: string[];
  liveTensors: number;
  liveBytes: number;
  /** Since the recording began; of `(before attach)`, what was there then. */
  allocatedTensors: number;
  allocatedBytes: number;
}

export interface Snapshot {
  version: number;
  pid: number;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
  rss: number;
  devices: DeviceFigures[];
  /** Those that hold most; null while nothing is recorded. Estimates in mode `sample`. */
  sites: SiteFigures[] | null;
  mode: 'counters' | 'sample' | 'full' | null;
  /** By all sites, since the recording began, without what was there before; null in mode `counters` too. */
  made: { tensors: number; bytes: number } | null;
  /** How long it is recorded already. */
  ms: number | null;
}

interface Row extends Omit<SiteFigures, keyof Frame | 'devices'> {
  device: [number, number];
}

const maps = new SourceMaps();

/** What it does not say while nothing is recorded. */
type Missing = 'mode' | 'ms' | 'made';

/** As many as the process tells of at most: kMostSites in native/audit/requests.cpp. */
const MOST_ROWS = 300;

/** Asks for it. Sites that share a position in the source are one. `complete`: they are all sites that there are. */
export async function askSnapshot(connection: Connection): Promise<{ snapshot: Snapshot; complete: boolean }> {
  const answer = await connection.ask('snapshot');
  type Known = Omit<Snapshot, 'version' | 'sites' | Missing> & Partial<Pick<Snapshot, Missing>>;
  const { ok, sites, ...figures } = answer as unknown as Known & { ok: true; sites: Row[] | null };
  return {
    snapshot: { version: 1, mode: null, ms: null, made: null, ...figures, sites: sites && merged(sites) },
    complete: (sites?.length ?? 0) < MOST_ROWS,
  };
}

export const takeSnapshot = async (connection: Connection): Promise<Snapshot> =>
  (await askSnapshot(connection)).snapshot;

function merged(rows: Row[]): SiteFigures[] {
  const sites = new Map<string, SiteFigures>();
  for (const { stack: raw, device, ...figures } of rows) {
    const stack = sourceStack(raw, maps);
    const frame = stack[0] ?? NO_STACK;
    const name = deviceName(...device);
    const key = `${frame.file}:${frame.line}:${frame.column}`;
    const site = sites.get(key);
    if (site === undefined) {
      sites.set(key, { ...frame, stack, devices: [name], ...figures });
      continue;
    }
    site.devices = [...new Set([...site.devices, name])].sort();
    for (const figure of ['liveTensors', 'liveBytes', 'allocatedTensors', 'allocatedBytes'] as const)
      site[figure] += figures[figure];
  }
  return [...sites.values()].sort((a, b) => b.liveBytes - a.liveBytes || b.liveTensors - a.liveTensors);
}
