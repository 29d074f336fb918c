/** Columns that line up, whatever colours are in them. */
import { stripVTControlCharacters } from 'node:util';

export interface Column {
  title: string;
  align: 'left' | 'right';
}

const width = (text: string) => stripVTControlCharacters(text).length;

function pad(text: string, to: number, align: Column['align']): string {
  const space = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + space : space + text;
}

/** Lines of the table, the titles first. */
export function renderTable(columns: Column[], rows: string[][], style: (titles: string) => string): string[] {
  const widths = columns.map((column, i) => Math.max(width(column.title), ...rows.map((row) => width(row[i]!))));
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => pad(cell, widths[i]!, columns[i]!.align))
      .join('  ')
      .trimEnd();
  return [style(line(columns.map((column) => column.title))), ...rows.map(line)];
}
