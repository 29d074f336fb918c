/** Values as Python prints them. */

/** The shortest text that gives the number again, as Python's `repr(float)`. */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [digits, power] = value.toExponential().split('e') as [string, string];
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${digits}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (Number.isInteger(value)) return `${value}.0`;
  return exponent < 0 ? value.toFixed(Math.max(0, digits.replace(/[-.]/g, '').length - 1 - exponent)) : String(value);
}

export const pythonBoolean = (value: boolean): string => (value ? 'True' : 'False');
export const pythonText = (value: string): string => `'${value}'`;

const pythonNumber = (value: number) => (Number.isInteger(value) ? String(value) : pythonFloat(value));

/** A number, or a list as a tuple. */
export function pythonNumbers(value: number | readonly number[]): string {
  if (typeof value === 'number') return pythonNumber(value);
  return pythonTuple(value.map(pythonNumber));
}

export const pythonTuple = (parts: readonly string[]): string =>
  `(${parts.join(', ')}${parts.length === 1 ? ',' : ''})`;

/** `in_features` for `inFeatures`. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** `inFeatures` for `in_features`. */
export const camelCase = (name: string): string =>
  name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
