/** Terminal size and text width. */
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Defaults for a terminal of unknown size. */
const COLUMNS = 80;
const ROWS = 24;

interface Terminal {
  columns?: number;
  rows?: number;
}

/**
 * The size of a terminal; if it reports 0 by 0, as under `script` and in some CI, that of COLUMNS and LINES, else the
 * default.
 */
export function terminalSize(stream: Terminal, env: NodeJS.ProcessEnv = process.env): Required<Terminal> {
  return {
    columns: size(stream.columns) ?? size(Number(env.COLUMNS)) ?? COLUMNS,
    rows: size(stream.rows) ?? size(Number(env.LINES)) ?? ROWS,
  };
}

const size = (n: number | undefined) => (n !== undefined && Number.isInteger(n) && n > 0 ? n : undefined);

const NARROW = /^[\x20-\x7e\u2026▁-█]*$/;
const NOTHING = /[\p{Mn}\p{Me}\p{Cc}\p{Cf}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** The columns that a text takes; East Asian wide characters take two. */
export function displayWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (NARROW.test(plain)) return plain.length;
  let width = 0;
  for (const character of plain) width += NOTHING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** The text, or its beginning without colours. */
export function cutEnd(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const characters = [...stripVTControlCharacters(text)];
  return `${taken(characters, columns - 1).join('')}…`;
}

/** The text, or its end without colours. */
export function cutBegin(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const characters = [...stripVTControlCharacters(text)].reverse();
  return `…${taken(characters, columns - 1)
    .reverse()
    .join('')}`;
}

function taken(characters: string[], columns: number): string[] {
  let left = columns;
  const end = characters.findIndex((character) => {
    left -= displayWidth(character);
    return left < 0;
  });
  return end < 0 ? characters : characters.slice(0, end);
}

/** Relative to the working folder if it is below it. */
export function nearName(file: string): string {
  const relative = path.relative('', file);
  return relative === '' || relative.startsWith('..') ? path.resolve(file) : relative;
}
