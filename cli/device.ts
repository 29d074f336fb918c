/** `--device`: of which device a command speaks. */
import type { Capture } from './capture/capture';
import { UsageError } from './errors';
import { deviceMatches } from './sites';

/** A name that none of the captures has (a misspelt one, say) would make a report that is empty and looks clean. */
export function checkDevice(captures: Capture[], wanted: string | undefined): void {
  if (wanted === undefined) return;
  const there = new Set(captures.flatMap(({ series }) => [...series.values()].map(({ device }) => device)));
  if ([...there].some((device) => deviceMatches(device, wanted))) return;
  const are = there.size === 0 ? 'no sites at all' : `sites of ${[...there].sort().join(', ')} alone`;
  throw new UsageError(`--device ${wanted}: the capture has ${are}`);
}
