/** `--device`: restricts a command to one device. */
import type { Capture } from '../capture/capture';
import { UsageError } from '../errors/errors';
import { deviceMatches } from './sites';

/** Rejects a device that no capture has, for example a misspelt one: the empty report would look clean. */
export function checkDevice(captures: Capture[], wanted: string | undefined): void {
  if (wanted === undefined) return;
  const there = new Set(captures.flatMap(({ series }) => [...series.values()].map(({ device }) => device)));
  if ([...there].some((device) => deviceMatches(device, wanted))) return;
  const known = [...there].sort().join(', ');
  throw new UsageError(
    `--device ${wanted}: ${there.size === 0 ? 'the capture has no sites' : `expected a device of the capture (${known})`}`,
  );
}
