/** The ratios of this run against those of a baseline. */

import { none, table } from '../support/markdown.mjs';

const digits = (value) => (value === undefined ? none : value.toFixed(2));

/**
 * @param {Awaited<ReturnType<import('../support/baseline.mjs').confirmed>>} result
 * @param {number} tolerance
 * @param {ReturnType<import('../support/baseline.mjs').placeOf>} from where the baseline was measured
 */
export function compareSection({ compared, runs }, tolerance, from) {
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
      `medians. A ratio is slower or faster if that whole range says so by more than ${100 * tolerance}%, slower only if each of ` +
      `several runs says so (here: ${runs}). The baseline is from ${from.processor}, Node ${from.node}, libtorch ${from.libtorch}.`,
    table(['', 'Baseline', 'Now', 'Now / baseline', ''], rows),
  ].join('\n\n');
}
