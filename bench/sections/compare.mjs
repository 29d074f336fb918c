/** The ratios of this run against those of a baseline. */

import { TOLERANCE } from '../support/baseline.mjs';
import { none, table } from '../support/markdown.mjs';

const digits = (value) => (value === undefined ? none : value.toFixed(2));

/** @param {import('../support/baseline.mjs').Compared[]} compared */
export function compareSection(compared) {
  const rows = compared.map(({ name, base, now, low, high, verdict }) => [
    name,
    digits(base),
    digits(now),
    low === undefined ? none : `${digits(low)}–${digits(high)}`,
    verdict === 'slower' || verdict === 'gone' ? `**${verdict}**` : verdict,
  ]);
  return [
    '## Compared with the baseline',
    'Medians of the ratios within a round, and how far the change of the ratio lies in for the 95% confidence intervals of both ' +
      `medians. A ratio is slower or faster if that whole range says so by more than ${100 * TOLERANCE}%.`,
    table(['', 'Baseline', 'Now', 'Now / baseline', ''], rows),
  ].join('\n\n');
}
