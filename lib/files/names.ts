/** Quotes text from files for messages: short, on one line, without terminal control characters. */

const MAX_QUOTED = 60;

/** Text from a file in quotes, truncated if it is long; for other values their type. */
export function quote(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'string') return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
  const short = value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value;
  // JSON does not escape the control characters above ASCII and the line separators.
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A plain name unchanged, any other text as `quote` shows it. */
export const shown = (name: string): string => (/^[\w.]{1,60}$/.test(name) ? name : quote(name));

/** "[2, 3]"; of a long shape only the first sizes. */
export function showShape(shape: readonly number[]): string {
  return `[${shape.slice(0, 8).join(', ')}${shape.length > 8 ? `, … (${shape.length} sizes)` : ''}]`;
}

/**
 * The number of elements of a shape. Undefined if the product of its nonzero sizes is not a safe integer: libtorch
 * multiplies them for an empty tensor too.
 */
export function elementsOf(shape: readonly number[]): number | undefined {
  let product = 1;
  for (const size of shape) {
    if (size !== 0) product *= size;
    if (product > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return shape.includes(0) ? 0 : product;
}
