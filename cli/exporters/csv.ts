/** The sites as comma-separated values (RFC 4180), for spreadsheets and notebooks. */
import { printable } from '../printable';
import type { SiteReport } from '../report';

const COLUMNS: [string, (site: SiteReport) => string | number | null][] = [
  ['verdict', (site) => site.verdict],
  ['file', (site) => site.file],
  ['line', (site) => site.line],
  ['column', (site) => site.column],
  ['function', (site) => site.function],
  ['devices', (site) => site.devices.join(' ')],
  ['liveTensors', (site) => site.liveTensors],
  ['liveBytes', (site) => site.liveBytes],
  ['allocatedTensors', (site) => site.allocatedTensors],
  ['allocatedBytes', (site) => site.allocatedBytes],
  ['growthBytesPerMinute', (site) => site.growthBytesPerMinute],
  ['growthTensorsPerMinute', (site) => site.growthTensorsPerMinute],
  ['oldestMs', (site) => site.oldestMs],
];

/** What a spreadsheet takes for a formula, which can run programs and send data away. */
const FORMULA = /^[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;

/** Texts are the program's: they get a quote before them where they would be formulas. Numbers are ours, negative ones too. */
const cell = (value: string | number | null) => {
  if (value === null) return '';
  const text = typeof value === 'number' ? String(value) : printable(FORMULA.test(value) ? `'${value}` : value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function renderCsv(sites: SiteReport[]): string {
  const rows = [COLUMNS.map(([title]) => title), ...sites.map((site) => COLUMNS.map(([, of]) => of(site)))];
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
