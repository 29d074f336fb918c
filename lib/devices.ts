/** Devices as programs give them. */
import { argumentError } from './errors';

/** The name of a device: a number is that GPU, as in PyTorch. Undefined for what names none. */
export function deviceName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Number.isInteger(value) && (value as number) >= 0 ? `cuda:${value}` : undefined;
}

/** The same of an option of a hand-written function; null where it is not given. Native code checks the name. */
export function givenDevice(fn: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const name = deviceName(value);
  if (name === undefined) throw argumentError(fn, 'device', "a device such as 'cpu' or 'cuda:0'", value);
  return name;
}
