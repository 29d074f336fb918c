/** Training of the digits example, beside the same program in Python. */

import { StepError } from '../../scripts/steps/errors.mjs';
import { TOLERANCE, trainings } from '../measure/digits.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/**
 * The largest difference between the losses of both programs, as a share of the loss. Beyond the tolerance they do not
 * learn the same, and their times cannot be compared.
 * @param {Awaited<ReturnType<import('../measured.mjs').Measured['digits']>>} digits @param {string} training
 */
export function lossDifference({ node, python }, training) {
  if (python === undefined) return undefined;
  const differences = node[training].map(({ loss }, round) => {
    const other = python[training][round].loss;
    return Math.abs(loss - other) / Math.abs(other);
  });
  const most = Math.max(...differences);
  if (!(most <= TOLERANCE)) throw new StepError(`digits, ${training}: the losses differ by ${most} of themselves.`);
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
      `(bench/python/digits.py), one thread. Milliseconds a step, median (least–most) of ${plan.digitsRounds} rounds of ` +
      `${plan.digitsSteps.full} full and ${plan.digitsSteps.mini} small steps. Seeds make data, weights and order the ` +
      `same, and so must be the losses: further apart than ${TOLERANCE} of themselves in any round and the bench fails.`,
    table(['', 'Node', 'PyTorch', 'Node / PyTorch', 'in CPU time', 'Last loss', 'Losses differ by'], rows),
    noise(figures),
  ].join('\n\n');
}
