/**
 * Escapes text of programs, files and command lines for terminals: control characters and those that are invisible, change
 * the direction or break lines become `\u001b`. In JSON these escapes stand for the original characters.
 */
import pc from 'picocolors';

/** C0, DEL, C1; invisible characters and those that change the direction; line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** One line without control characters. */
export const printable = (text: string): string => text.replace(UNSAFE, escaped);

/** Escapes each string in a value, so that it cannot begin a line or end a colour. Keys are our own names. */
export function printableAll<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(printableAll) as T;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, printableAll(one)])) as T;
}

/** The sequences of our own colours. */
const { bold, dim, red, green, yellow, cyan } = pc.createColors(true);
const COLOR = String.raw`\u001b\[\d+m`;
const COLOR_CODES = new Set(
  [bold, dim, red, green, yellow, cyan].flatMap((paint) => paint(paint('x')).match(new RegExp(COLOR, 'g')) ?? []),
);

/** Line ends of our texts (and of CSV), colours, and characters to escape. */
const LEAVING = new RegExp(String.raw`\r?\n|${COLOR}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`, 'gu');

/** Escapes a text for a terminal, except line ends and, if `colored`, our colours. */
export const forTerminal = (text: string, colored: boolean): string =>
  text.replace(LEAVING, (found) => {
    if (found === '\n' || found === '\r\n' || (colored && COLOR_CODES.has(found))) return found;
    return printable(found);
  });

/** JSON without raw control or invisible characters: those that JSON allows are written as JSON escapes. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/\P{ASCII}|\x7f/gu, (found) =>
    found.match(UNSAFE) ? escaped(found) : found,
  );
