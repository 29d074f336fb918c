/** `report --by`: a line for each value of a label. */

import type { Redaction } from '../analysis/redact';
import { byLabel, labelNames } from '../capture/by-label';
import type { Capture } from '../capture/capture';
import { UsageError } from '../errors/errors';
import type { Colors } from '../terminal/colors';
import { printable } from '../terminal/printable';
import { type Column, renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount } from '../terminal/units';

const MAX_ROWS = 30;

/** With `redaction`, names of the program are not shown. */
export function renderLabels(capture: Capture, name: string, colors: Colors, redaction?: Redaction): string {
  const names = labelNames(capture);
  if (!names.includes(name)) {
    const shown = redaction === undefined ? names.join(', ') : counted(names.length, 'other');
    const known = names.length === 0 ? 'it has no labels' : `it has ${shown}`;
    throw new UsageError(`the capture has no label '${name}': ${known}`);
  }
  const columns: Column[] = ['live', 'live bytes', 'allocated', 'bytes'].map((title) => ({ title, align: 'right' }));
  const all = byLabel(capture, name);
  const totals = redaction?.totals(all) ?? all;
  const rows = totals
    .slice(0, MAX_ROWS)
    .map((sum) => [
      formatCount(sum.liveTensors),
      formatBytes(sum.liveBytes),
      formatCount(sum.allocatedTensors),
      formatBytes(sum.allocatedBytes),
      sum.value === undefined ? '(none)' : printable(sum.value),
    ]);
  const lines = renderTable(
    [...columns, { title: printable(redaction?.labelName(name) ?? name), align: 'left' }],
    rows,
    colors.bold,
  );
  if (totals.length > MAX_ROWS) lines.push(`and ${formatCount(totals.length - MAX_ROWS)} more values`);
  return `\n${lines.join('\n')}\n`;
}
