/** torch.save and torch.load, as multiples of PyTorch. */
import { files } from '../measure/files.mjs';
import { megabytes, none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function filesSection(plan, measured) {
  const { ns, cpu } = await measured.files();
  const against = (clock, name) =>
    clock.python === undefined ? none : times(ratio(clock.node[name], clock.python[name]));
  const milliseconds = (values) => (values === undefined ? none : range(summarise(values.map((value) => value / 1e6))));
  const rows = Object.entries(files).map(([name, title]) => [
    title,
    milliseconds(ns.node[name]),
    milliseconds(ns.python?.[name]),
    against(ns, name),
    against(cpu, name),
  ]);
  const figures = Object.entries(files).map(([name, title]) => [title, summarise(ns.node[name])]);
  return [
    '## Files',
    `A state dict of 64 float32 tensors, ${megabytes(plan.fileBytes)}, on the disk of the temporary folder; one thread; ` +
      `${plan.fileRounds} rounds, both programs in turn within each round. Milliseconds, median (min–max); the multiples are ` +
      'medians of the ratios within a round. `torch.save` of libtorch-node writes beside the old file, calls `fsync`, and ' +
      'renames; PyTorch overwrites the file and does not sync. In the first row PyTorch does the same three things.',
    table(['', 'Node', 'PyTorch', 'Node / PyTorch, time', 'Node / PyTorch, CPU time'], rows),
    noise(figures),
  ].join('\n\n');
}
