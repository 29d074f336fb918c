/** Seeds of random numbers, as in PyTorch. */
import { argumentError } from './errors';

/** The 64 bits of a seed as a signed integer, for native code. */
export function seedOf(fn: string, seed: unknown): bigint {
  const whole = typeof seed === 'bigint' || Number.isInteger(seed) ? BigInt(seed as number | bigint) : undefined;
  if (whole === undefined || whole < -(2n ** 63n) || whole >= 2n ** 64n) {
    throw argumentError(fn, 'seed', 'an integer from -2^63 to 2^64 - 1', seed);
  }
  return BigInt.asIntN(64, whole);
}
