/** Figures and tables in Markdown, readable as plain text too. */

/** @param {string[]} head @param {string[][]} rows the first column is left-aligned, the others right-aligned */
export function table(head, rows) {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

const digits = (value) => (value < 10 ? 1 : 0);
const number = (value, places) =>
  value.toLocaleString('en-US', { minimumFractionDigits: places, maximumFractionDigits: places });

/** "1,040 (990–1,210)" @param {import('./stats.mjs').Summary} summary */
export const range = ({ median, min, max }) =>
  `${number(median, digits(median))} (${number(min, digits(median))}–${number(max, digits(median))})`;

export const times = (value) => `${value.toFixed(2)}×`;
export const megabytes = (bytes) => `${number(bytes / 1e6, Math.abs(bytes) < 1e7 ? 1 : 0)} MB`;
export const integer = (value) => number(value, 0);
export const none = '–';

/** Of a goal. @param {boolean} met */
export const verdict = (met) => (met ? 'met' : '**missed**');
