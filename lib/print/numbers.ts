/** Numbers as Python's format() writes them: ties go to the even digit, exponents have two digits. */

/** Extra digits for rounding: a tie ends right after its 5, so these distinguish it from values above or below. */
const BEHIND = 50;
/** How many digits behind the point can be asked for: JavaScript writes 100 at most. */
export const MAX_DIGITS = 100 - BEHIND;
const HALF = `5${'0'.repeat(BEHIND - 1)}`;

const special = (value: number) => (Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf');
const sign = (value: number) => (value < 0 || Object.is(value, -0) ? '-' : '');

/** Cuts BEHIND digits off a run of digits, rounding half to even. May grow by a digit. */
function roundOff(digits: string): string {
  const head = digits.slice(0, -BEHIND);
  const rest = digits.slice(-BEHIND);
  const up = rest > HALF || (rest === HALF && Number(head.at(-1)) % 2 === 1);
  return up ? (BigInt(head) + 1n).toString().padStart(head.length, '0') : head;
}

/** '{:.<precision>e}' */
export function exponential(value: number, precision: number): string {
  if (!Number.isFinite(value)) return special(value);
  const [mantissa, power] = Math.abs(value)
    .toExponential(precision + BEHIND)
    .split('e') as [string, string];
  let digits = roundOff(mantissa.replace('.', ''));
  let exponent = Number(power);
  if (digits.length > precision + 1) {
    digits = digits.slice(0, -1); // 9.99996 became 10.0000
    exponent++;
  }
  const point = precision > 0 ? '.' : '';
  return `${sign(value)}${digits[0]}${point}${digits.slice(1)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** '{:.<precision>f}' */
export function fixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return special(value);
  const magnitude = Math.abs(value);
  // toFixed's limit is above the size at which doubles have fractions.
  const [whole, fraction] =
    magnitude < 1e21 ? magnitude.toFixed(precision + BEHIND).split('.') : [BigInt(magnitude).toString()];
  const digits = roundOff(whole + (fraction ?? '0'.repeat(precision + BEHIND)));
  const cut = digits.length - precision;
  return `${sign(value)}${digits.slice(0, cut)}${precision > 0 ? '.' : ''}${digits.slice(cut)}`;
}

/** Python's repr() of a float: the shortest digits that round-trip, with an exponent for very large and small numbers. */
export function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return special(value);
  const exponent = Number(value.toExponential().split('e')[1]);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    const [digits, power] = value.toExponential().split('e') as [string, string];
    return `${digits}e${power[0]}${power.slice(1).padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${sign(value)}${BigInt(Math.abs(value))}.0` : String(value);
}
