/** The normal distribution's upper tail. */

/** The probability that a standard normal value is above `z`. */
export function upperTail(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.5 * x);
  let sum = 0;
  for (const c of COEFFICIENTS) sum = sum * t + c;
  const tail = 0.5 * t * Math.exp(-x * x + sum);
  return z >= 0 ? tail : 1 - tail;
}

/** The Chebyshev fit of Numerical Recipes (erfcc), highest power first; its relative error is below 1.2e-7. */
const COEFFICIENTS = [
  0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
  -1.26551223,
];
