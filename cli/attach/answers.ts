/** Validates the answers of a process: the peer of the socket is not trusted. */

import { amount, list, Names, object, text } from '../capture/fields';
import { deviceName } from '../capture/format';
import { Budget, MAX_MS } from '../capture/limits';
import type { Frame } from '../capture/records';
import type { DeviceFigures, Snapshot } from './figures';

type Answer = Record<string, unknown>;

/** More than any machine has. */
const MAX_DEVICES = 1024;
/** More than a process sends: see the limit on sites in native/audit/requests.cpp. */
const MAX_ROWS = 1000;

export interface Row {
  device: string;
  stack: Frame[];
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
}

export interface SnapshotAnswer extends Omit<Snapshot, 'version' | 'sites'> {
  sites: Row[] | null;
}

/** Estimates may be fractions, and sums may be briefly inconsistent, but no figure is below 0. */
function figures<Name extends string>(from: Answer, names: readonly Name[], where: string): Record<Name, number> {
  const entries = names.map((name) => [name, amount(from[name], `${where}${name}`, Number.MAX_VALUE)]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

/** The answer to `status`. */
export function recordingOf(answer: Answer): { by?: string; file?: string } | null {
  if (answer.recording === null || answer.recording === undefined) return null;
  const { by, file } = object(answer.recording, 'recording');
  return {
    ...(by === undefined ? {} : { by: text(by, 'recording.by') }),
    ...(file === undefined ? {} : { file: text(file, 'recording.file') }),
  };
}

/** The answer to `detach`. */
export const detachedOf = ({ file, ms }: Answer): { file: string; ms: number } => ({
  file: text(file, 'file'),
  ms: amount(ms, 'ms', MAX_MS),
});

/** The answer to `snapshot`. */
export function snapshotOf(answer: Answer): SnapshotAnswer {
  const { mode, ms, made, sites } = answer;
  return {
    ...figures(
      answer,
      ['pid', 'tensors', 'storages', 'bytes', 'allocatedBytes', 'peakAllocatedBytes', 'rss'] as const,
      '',
    ),
    mode: modeOf(mode),
    ms: ms === null || ms === undefined ? null : amount(ms, 'ms', MAX_MS),
    made: made === null || made === undefined ? null : figures(object(made, 'made'), ['tensors', 'bytes'], 'made.'),
    devices: list(answer.devices, 'devices', MAX_DEVICES).map(deviceOf),
    sites: sites === null || sites === undefined ? null : rowsOf(sites),
  };
}

function modeOf(mode: unknown): Snapshot['mode'] {
  if (mode === null || mode === undefined) return null;
  const said = text(mode, 'mode');
  return said === 'counters' || said === 'sample' ? said : 'full';
}

function deviceOf(value: unknown, i: number): DeviceFigures {
  const where = `devices[${i}]`;
  const device = object(value, where);
  const names = ['tensors', 'storages', 'bytes', 'allocatedBytes', 'peakAllocatedBytes'] as const;
  return { device: text(device.device, `${where}.device`), ...figures(device, names, `${where}.`) };
}

function rowsOf(value: unknown): Row[] {
  const names = new Names(new Budget());
  return list(value, 'sites', MAX_ROWS).map((one, i) => {
    const where = `sites[${i}]`;
    const site = object(one, where);
    const [type, index] = list(site.device, `${where}.device`, 2).map(Number) as [number, number];
    return {
      device: deviceName(type, index),
      stack: names.stack(site.stack, `${where}.stack`),
      ...figures(site, ['liveTensors', 'liveBytes', 'allocatedTensors', 'allocatedBytes'] as const, `${where}.`),
    };
  });
}
