/** Device arguments. */
import { argumentError } from './errors';

/** The name of a device: a number is a GPU index, as in PyTorch. Undefined for other values. */
export function deviceName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Number.isInteger(value) && (value as number) >= 0 ? `cuda:${value}` : undefined;
}

/** The same for an option of a hand-written function; null if omitted. Native code checks the name. */
export function givenDevice(fn: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const name = deviceName(value);
  if (name === undefined) throw argumentError(fn, 'device', "a device such as 'cpu' or 'cuda:0'", value);
  return name;
}
