/** Plain values that ops take: complex numbers and streams. They own no resources. */
import { argumentError } from './errors';

/** A complex scalar. Objects `{ re, im }` are accepted too. */
export class Complex {
  constructor(
    readonly re: number,
    readonly im: number,
  ) {
    if (typeof re !== 'number') throw argumentError('Complex', 're', 'a number', re);
    if (typeof im !== 'number') throw argumentError('Complex', 'im', 'a number', im);
  }

  toString(): string {
    return `${this.re}${this.im < 0 || Object.is(this.im, -0) ? '-' : '+'}${Math.abs(this.im)}j`;
  }
}

/** Whether a value is a complex scalar: a Complex, or an object with the numbers `re` and `im` and nothing else. */
export function isComplex(value: unknown): value is { re: number; im: number } {
  if (value instanceof Complex) return true;
  if (typeof value !== 'object' || value === null) return false;
  const { re, im } = value as { re?: unknown; im?: unknown };
  // Exactly these two own properties, ignoring Object.prototype.
  const own = Object.keys(value);
  return (
    typeof re === 'number' && typeof im === 'number' && own.length === 2 && own.includes('re') && own.includes('im')
  );
}

/** A stream of a device, for `recordStream`. `id` 0 is the device's default stream. */
export class Stream {
  constructor(
    readonly device: string = 'cpu',
    readonly id: number = 0,
  ) {
    if (typeof device !== 'string') throw argumentError('Stream', 'device', "a device such as 'cuda:0'", device);
    if (!Number.isInteger(id)) throw argumentError('Stream', 'id', 'an integer', id);
  }
}

/** Requires a number of threads. With very many, OpenMP ends the process when it cannot create one. */
export function demandThreads(fn: string, argument: string, count: unknown): asserts count is number {
  if (Number.isInteger(count) && (count as number) >= 1 && (count as number) <= 1024) return;
  throw argumentError(fn, argument, 'an integer from 1 to 1024', count);
}
