/** What files say, in messages: short, on one line, and nothing that a terminal would obey. */

const MOST = 60;

/** Text of a file in quotes, its beginning if it is long; of any other value its kind. */
export function quote(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'string') return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
  const short = value.length > MOST ? `${value.slice(0, MOST)}…` : value;
  // JSON leaves the control characters above ASCII, and separators of lines, as they are.
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A name as it is where it is a plain one, else as `quote` has it. */
export const shown = (name: string): string => (/^[\w.]{1,60}$/.test(name) ? name : quote(name));

/** "[2, 3]", the first sizes of a long one. */
export function showShape(shape: readonly number[]): string {
  return `[${shape.slice(0, 8).join(', ')}${shape.length > 8 ? `, … (${shape.length} sizes)` : ''}]`;
}

/**
 * The elements of a shape. Undefined where the product of its sizes other than 0 is no exact number: libtorch multiplies
 * them for an empty tensor, too.
 */
export function elementsOf(shape: readonly number[]): number | undefined {
  let product = 1;
  for (const size of shape) {
    if (size !== 0) product *= size;
    if (product > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return shape.includes(0) ? 0 : product;
}
