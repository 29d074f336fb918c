/** Training of the digits example, compared with the same program in Python. */

import { StepError } from '../../scripts/steps/errors.mjs';
import { TOLERANCE, trainings } from '../measure/digits.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/**
 * The largest relative difference between the losses of both programs. Beyond the tolerance the trainings differ, and
 * their times cannot be compared.
 * @param {Awaited<ReturnType<import('../measured.mjs').Measured['digits']>>} digits @param {string} training
 */
export function lossDifference({ node, python }, training) {
  if (python === undefined) return undefined;
  const differences = node[training].map(({ loss }, round) => {
    const other = python[training][round].loss;
    return Math.abs(loss - other) / Math.abs(other);
  });
  const most = Math.max(...differences);
  if (!(most <= TOLERANCE))
    throw new StepError(`digits, ${training}: expected a relative difference of losses ≤ ${TOLERANCE}, got ${most}`);
  return most;
}

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function digitsSection(plan, measured) {
  const digits = await measured.digits();
  const milliseconds = (program, training) => digits[program][training].map(({ ns }) => ns / 1e6);
  const rows = Object.entries(trainings).map(([training, title]) => {
    const node = milliseconds('node', training);
    const loss = digits.node[training].at(-1).loss.toFixed(5);
    const difference = lossDifference(digits, training);
    if (difference === undefined) return [title, range(summarise(node)), none, none, none, loss, none];
    const cpu = ratio(
      digits.node[training].map((round) => round.cpu),
      digits.python[training].map((round) => round.cpu),
    );
    const python = milliseconds('python', training);
    return [
      title,
      range(summarise(node)),
      range(summarise(python)),
      times(ratio(node, python)),
      times(cpu),
      loss,
      difference.toExponential(1),
    ];
  });
  const figures = Object.keys(digits).flatMap((program) =>
    Object.keys(trainings).map((training) => [`${training} of ${program}`, summarise(milliseconds(program, training))]),
  );
  return [
    '## Digits',
    `Training of examples/digits (784 – 128 – 10, cross entropy, Adam, 8,330 digits) and of the same program in Python ` +
      `(bench/python/digits.py), one thread. Milliseconds per step, median (min–max) of ${plan.digitsRounds} rounds of ` +
      `${plan.digitsSteps.full} full and ${plan.digitsSteps.mini} small steps. Data, weights and order are ` +
      `the same by seeds; the bench fails if the losses of any round differ by more than ${TOLERANCE} (relative).`,
    table(['', 'Node', 'PyTorch', 'Node / PyTorch', 'in CPU time', 'Last loss', 'Losses differ by'], rows),
    noise(figures),
  ].join('\n\n');
}
