/** Tables with aligned columns; colours in cells do not count as width. */
import { stripVTControlCharacters } from 'node:util';
import { cutBegin, cutEnd, displayWidth } from './size';

export interface Column {
  title: string;
  align: 'left' | 'right';
  /** Left out first where the terminal is narrow. */
  optional?: boolean;
}

const GAP = 2;
/** The last column is not cut below this width. */
const MIN_LAST = 24;

function pad(text: string, to: number, align: Column['align']): string {
  const space = ' '.repeat(Math.max(0, to - displayWidth(text)));
  return align === 'left' ? text + space : space + text;
}

/**
 * The lines of the table, titles first. If the table is wider than `fit`, optional columns are dropped from the right,
 * then the last column is cut.
 */
export function renderTable(
  columns: Column[],
  rows: string[][],
  style: (titles: string) => string,
  fit = Number.POSITIVE_INFINITY,
): string[] {
  const widths = columns.map((column, i) =>
    Math.max(displayWidth(column.title), ...rows.map((row) => displayWidth(row[i]!))),
  );
  const last = columns.length - 1;
  const shown = new Set(columns.keys());
  /** The width left for the last column. */
  const room = () => fit - [...shown].reduce((sum, i) => (i === last ? sum : sum + widths[i]! + GAP), 0);
  for (let i = last - 1; i >= 0 && room() < Math.min(widths[last]!, MIN_LAST); i--) {
    if (columns[i]!.optional === true) shown.delete(i);
  }
  const most = Math.max(room(), MIN_LAST);
  const line = (cells: string[]) =>
    [...shown]
      .map((i) => (i === last ? shorten(cells[i]!, most) : pad(cells[i]!, widths[i]!, columns[i]!.align)))
      .join(' '.repeat(GAP))
      .trimEnd();
  return [style(line(columns.map((column) => column.title))), ...rows.map(line)];
}

/** `path/to/file.ts:3:7 name` loses the name first, then the start of the path; other text loses its end. */
function shorten(text: string, to: number): string {
  if (displayWidth(text) <= to) return text;
  const plain = stripVTControlCharacters(text);
  const place = /^.*?:\d+:\d+/.exec(plain)?.[0];
  return place === undefined ? cutEnd(plain, to) : cutBegin(place, to);
}
