/** The state that `live` shows: live tensors of a process or a growing capture, by device and by site. */

import { groupByPosition, isInventory, lastOf } from '../analysis/sites';
import type { Capture } from '../capture/capture';
import type { SourceMaps } from '../code/source-maps';

export interface LiveSite {
  file: string;
  line: number;
  column: number;
  function: string;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
}

export interface LiveState {
  ms: number;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  rss: number;
  devices: { device: string; tensors: number; bytes: number }[];
  sites: LiveSite[];
  /** Whether `sites` has all sites, or only those with most bytes. */
  complete: boolean;
  /** Since the recording began; null if not recorded. */
  made: { tensors: number; bytes: number } | null;
  mode: string;
  /** Number of processes in the sums. */
  processes: number;
  /** Recorded processes whose files cannot be read (yet), which are not in the sums. */
  unread: number;
}

/** The state of one process from its capture. Undefined before its first round. */
export function stateOf(capture: Capture, maps: SourceMaps): LiveState | undefined {
  const tick = capture.ticks.at(-1);
  if (tick === undefined) return undefined;
  const all = [...capture.series.values()];
  const devices = new Map<string, { device: string; tensors: number; bytes: number }>();
  for (const series of all) {
    const sum = devices.get(series.device) ?? { device: series.device, tensors: 0, bytes: 0 };
    sum.tensors += series.liveTensors.at(-1) ?? 0;
    sum.bytes += series.liveBytes.at(-1) ?? 0;
    devices.set(series.device, sum);
  }
  const mode = capture.start?.mode ?? 'full';
  const sites = groupByPosition(capture, all, maps).map(({ frame, members }) => {
    const its = members.map(({ series }) => series);
    return {
      ...frame,
      liveTensors: lastOf(its, (series) => series.liveTensors),
      liveBytes: lastOf(its, (series) => series.liveBytes),
      allocatedTensors: lastOf(its, (series) => series.allocatedTensors),
      allocatedBytes: lastOf(its, (series) => series.allocatedBytes),
    };
  });
  return {
    ...tick,
    mode,
    devices: [...devices.values()].sort(byDevice),
    sites,
    complete: true,
    made: mode === 'counters' ? null : madeBy(sites),
    processes: 1,
    unread: 0,
  };
}

const byDevice = (a: { device: string }, b: { device: string }) => (a.device < b.device ? -1 : 1);

function madeBy(sites: LiveSite[]): { tensors: number; bytes: number } {
  const made = sites.filter((site) => !isInventory(site));
  return {
    tensors: made.reduce((sum, site) => sum + site.allocatedTensors, 0),
    bytes: made.reduce((sum, site) => sum + site.allocatedBytes, 0),
  };
}

/** The state of a process that has ended: only its totals remain. */
export function withoutLive(state: LiveState): LiveState {
  return {
    ...state,
    ...{ tensors: 0, storages: 0, bytes: 0, allocatedBytes: 0, rss: 0, processes: 0, unread: 0 },
    devices: [],
    sites: state.sites.map((site) => ({ ...site, liveTensors: 0, liveBytes: 0 })),
  };
}

/** The sums over several processes, at the time of the first. */
export function sumOf(states: [LiveState, ...LiveState[]]): LiveState {
  const [first, ...others] = states;
  if (others.length === 0) return first;
  const sum = { ...first, made: first.made && { ...first.made } };
  const sites = new Map(first.sites.map((site) => [siteKey(site), { ...site }]));
  const devices = new Map(first.devices.map((one) => [one.device, { ...one }]));
  for (const state of others) {
    for (const figure of ['tensors', 'storages', 'bytes', 'allocatedBytes', 'rss', 'processes', 'unread'] as const)
      sum[figure] += state[figure];
    if (sum.made !== null && state.made !== null) {
      sum.made.tensors += state.made.tensors;
      sum.made.bytes += state.made.bytes;
    }
    for (const site of state.sites) {
      const known = sites.get(siteKey(site));
      if (known === undefined) sites.set(siteKey(site), { ...site });
      else
        for (const figure of ['liveTensors', 'liveBytes', 'allocatedTensors', 'allocatedBytes'] as const)
          known[figure] += site[figure];
    }
    for (const one of state.devices) {
      const known = devices.get(one.device);
      if (known === undefined) devices.set(one.device, { ...one });
      else {
        known.tensors += one.tensors;
        known.bytes += one.bytes;
      }
    }
  }
  return { ...sum, sites: [...sites.values()], devices: [...devices.values()].sort(byDevice) };
}

export const siteKey = ({ file, line, column }: LiveSite): string => `${file}:${line}:${column}`;
