/**
 * Text that comes from programs, files and command lines, made harmless for a terminal: control characters and those that
 * hide, turn or break text become visible escapes, `\u001b`. JSON reads these escapes as the characters that they stand for.
 */
import pc from 'picocolors';

/** C0, DEL, C1; invisible ones and those that change the direction; separators of lines and paragraphs. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** One line that does nothing to a terminal. */
export const printable = (text: string): string => text.replace(UNSAFE, escaped);

/** The same for each string in a value, so that none of it can begin a line or end a colour. Keys are names of ours. */
export function printableAll<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(printableAll) as T;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, printableAll(one)])) as T;
}

/** What our own colours write, and nothing else that begins with ESC. */
const { bold, dim, red, green, yellow, cyan } = pc.createColors(true);
const COLOR = String.raw`\u001b\[\d+m`;
const COLOR_CODES = new Set(
  [bold, dim, red, green, yellow, cyan].flatMap((paint) => paint(paint('x')).match(new RegExp(COLOR, 'g')) ?? []),
);

/** The line ends of our texts (of CSV, too), and colours. */
const LEAVING = new RegExp(String.raw`\r?\n|${COLOR}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`, 'gu');

/** A whole text as it may leave for a terminal. `colored`: with the colours in it. Other control characters are escaped. */
export const forTerminal = (text: string, colored: boolean): string =>
  text.replace(LEAVING, (found) => {
    if (found === '\n' || found === '\r\n' || (colored && COLOR_CODES.has(found))) return found;
    return printable(found);
  });

/** JSON with nothing in it that a terminal obeys: what JSON itself leaves as it is becomes an escape of JSON. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/\P{ASCII}|\x7f/gu, (found) =>
    found.match(UNSAFE) ? escaped(found) : found,
  );
