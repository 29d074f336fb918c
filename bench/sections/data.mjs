/** The data loader: its goals, and whether this run met them. */
import { PHOTOGRAPHS, PREFETCH, RESUMED, ROWS } from '../measure/data.mjs';
import { integer, megabytes, none, table, times, verdict } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function dataSection(plan, measured) {
  const answers = await measured.data();
  const of = (name, field) =>
    answers[name]?.map((answer) => answer[field]).filter((value) => value !== undefined) ?? [];
  const middle = (name, field) => median(of(name, field));
  const epoch = { node: of('epoch', 'ms'), python: of('python epoch', 'ms') };
  /** Pictures per second of `name`, as a multiple of another's: the median of the ratios within a round. */
  const pictureRow = (title, goal, most, name, base) => {
    const [ones, others] = [of(name, 'perSecond'), of(base, 'perSecond')];
    if (ones.length === 0 || others.length === 0) return [title, goal, none, 'not measured'];
    const found = median(ones.map((one, round) => one / others[round]));
    const text = `${times(found)} (${integer(median(ones))}/s of ${integer(median(others))}/s)`;
    return [title, goal, text, most === null ? none : verdict(found >= most)];
  };
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
  const [count, photographs] = [integer(plan.pictures), integer(Math.ceil(plan.pictures / PHOTOGRAPHS))];
  const one = `${count} pictures, a worker decodes one at a time`;
  const rows = [
    [
      `epoch over ${integer(plan.rows ?? ROWS)} rows in memory, batch 64`,
      '≥ 20 × as fast as PyTorch',
      `${epochSpeed} (${median(epoch.node).toFixed(1)} ms${epoch.python.length > 0 ? ` of ${median(epoch.python).toFixed(1)} ms` : ''})`,
      epochVerdict,
    ],
    pictureRow(`${one}, 2 workers`, '≥ 1.70 × 1 worker', 1.7, 'single pictures 2', 'single pictures 1'),
    pictureRow('the same by PyTorch with Pillow', '–', null, 'python pictures 2', 'python pictures 1'),
    pictureRow(`${count} pictures, 2 workers`, '– (× 1 worker)', null, 'pictures 2', 'pictures 1'),
    pictureRow('the same', '≥ PyTorch with Pillow', 1, 'pictures 2', 'python pictures 2'),
    pictureRow(
      `${photographs} photographs, 2 workers`,
      '≥ PyTorch with Pillow',
      1,
      'photographs 2',
      'python photographs 2',
    ),
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
    `Medians of ${plan.dataRounds} rounds; one thread for ops. An epoch is the best of 20 passes in a process, of PyTorch the best of 5. The pictures are JPEG files of 500 × 375, the photographs of 1024 × 768; they are decoded, resized to ` +
      '224 and cropped: by sharp, whose own threads decode the pictures of a batch, so that one worker may use all cores unless `concurrency` is 1, and by Pillow. The budget is compared ' +
      'with what the process holds more than with a budget of 1 MiB.',
    table(['', 'Goal', 'Measured', ''], rows),
    noise([
      ['epoch', summarise(epoch.node)],
      ['pictures', summarise(of('pictures 2', 'perSecond'))],
      ['resuming', summarise(of('resume', 'ms'))],
    ]),
  ].join('\n\n');
}
