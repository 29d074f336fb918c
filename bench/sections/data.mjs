/** The data loader: its goals, and whether this run met them. */
import { PREFETCH, RESUMED, ROWS } from '../measure/data.mjs';
import { integer, megabytes, none, table, times } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

const verdict = (met) => (met ? 'met' : '**missed**');

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function dataSection(plan, measured) {
  const answers = await measured.data();
  const of = (name, field) =>
    answers[name]?.map((answer) => answer[field]).filter((value) => value !== undefined) ?? [];
  const middle = (name, field) => median(of(name, field));
  const epoch = { node: of('epoch', 'ms'), python: of('python epoch', 'ms') };
  const [one, two] = [middle('images 1', 'perSecond'), middle('images 2', 'perSecond')];
  const pillow = of('python images 2', 'perSecond');
  const held = middle('prefetch', 'rss');
  const delay = middle('delay', 'p99');
  const resume = middle('resume', 'ms');
  const compared = (values, base, goal) => {
    if (base.length === 0) return [none, 'not measured'];
    const speed = median(values) / median(base);
    return [times(speed), verdict(speed >= goal)];
  };
  const [epochSpeed, epochVerdict] = compared(
    epoch.python,
    epoch.node.length && epoch.python.length ? epoch.node : [],
    20,
  );
  const rows = [
    [
      `epoch over ${integer(plan.rows ?? ROWS)} rows in memory, batch 64`,
      '≥ 20 × as fast as PyTorch',
      `${epochSpeed} (${median(epoch.node).toFixed(1)} ms${epoch.python.length > 0 ? ` of ${median(epoch.python).toFixed(1)} ms` : ''})`,
      epochVerdict,
    ],
    [
      `${integer(plan.pictures)} pictures, 2 workers`,
      '≥ 1.70 × one worker',
      `${times(two / one)} (${integer(two)}/s of ${integer(one)}/s)`,
      verdict(two >= 1.7 * one),
    ],
    [
      `${integer(plan.pictures)} pictures, 2 workers`,
      '≥ PyTorch with Pillow',
      pillow.length === 0 ? none : `${times(two / median(pillow))} (${integer(median(pillow))}/s)`,
      pillow.length === 0 ? 'not measured' : verdict(two >= median(pillow)),
    ],
    [
      `prefetch budget of ${megabytes(PREFETCH)}: RSS for batches`,
      '≤ the budget + 10%',
      `${megabytes(held)} (${megabytes(middle('prefetch', 'held'))} in tensors)`,
      verdict(held <= 1.1 * PREFETCH),
    ],
    ['event loop while loading and in `torch.run`: p99', '< 20 ms', `${delay.toFixed(1)} ms`, verdict(delay < 20)],
    [
      `resuming at ${integer(plan.resumed ?? RESUMED)} samples`,
      '< 50 ms',
      `${resume.toFixed(1)} ms (CPU time: ${middle('resume', 'cpu').toFixed(1)} ms)`,
      verdict(resume < 50),
    ],
  ];
  return [
    '## Data',
    `Medians of ${plan.dataRounds} rounds; one thread for ops. An epoch is the best of 20 passes in a process, of PyTorch the best of 5. The pictures are JPEG files of 500 × 375, decoded, resized to ` +
      '224 and cropped: by sharp, whose own threads decode the pictures of a batch, so that one worker may use all cores, and by Pillow. The budget is compared ' +
      'with what the process holds more than with a budget of 1 MiB.',
    table(['', 'Goal', 'Measured', ''], rows),
    noise([
      ['epoch', summarise(epoch.node)],
      ['pictures', summarise(of('images 2', 'perSecond'))],
      ['resuming', summarise(of('resume', 'ms'))],
    ]),
  ].join('\n\n');
}
