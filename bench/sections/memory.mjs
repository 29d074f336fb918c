/** The three loops that must not hold memory, each in a process of its own. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { integer, megabytes, none, table } from '../support/markdown.mjs';

/** @param {import('../plan.mjs').Plan} plan */
const loops = ({ zeros, adds }) => [
  {
    name: 'zeros',
    count: zeros,
    title: `${integer(zeros)} × 1 MiB \`zeros\`, nothing disposed`,
    limit: 'peak < 400 MB',
  },
  { name: 'add', count: adds, title: `${integer(adds)} × \`add\`, nothing disposed`, limit: 'growth < 100 MB' },
  { name: 'add-scope', count: adds, title: `${integer(adds)} × \`add\`, a scope each`, limit: 'growth < 20 MB' },
];

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function memorySection(plan, python) {
  const rows = await step('memory', async () => {
    const result = [];
    for (const { name, count, title, limit } of loops(plan)) {
      const of = (program, file) => jsonOf([program, inRoot('bench', file), name, String(count)], { seconds: 300 });
      const node = await of(process.execPath, 'node/memory.cjs');
      const other = python === undefined ? undefined : await of(python, 'python/memory.py');
      const cells = [node, other].flatMap((each) =>
        each === undefined ? [none, none] : [megabytes(each.peak), megabytes(each.growth)],
      );
      result.push([title, ...cells, limit]);
    }
    return result;
  });
  return [
    '## Memory',
    'Peak RSS of the process, and by how much the loop made RSS grow. PyTorch frees by reference counts and has no scopes.',
    table(['', 'Node peak', 'Node growth', 'PyTorch peak', 'PyTorch growth', 'Must hold'], rows),
  ].join('\n\n');
}
