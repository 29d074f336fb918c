/** The loops that must not accumulate memory. */
import { integer, megabytes, none, table } from '../support/markdown.mjs';
import { median } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan */
const loops = ({ zeros, add, 'add-scope': addScope, scoped }) => ({
  zeros: { title: `${integer(zeros)} × 1 MiB \`zeros\`, nothing disposed`, limit: 'peak < 400 MB' },
  add: { title: `${integer(add)} × \`add\`, nothing disposed`, limit: 'growth < 100 MB' },
  'add-scope': { title: `${integer(addScope)} × \`add\`, a scope each`, limit: 'growth < 20 MB' },
  scoped: { title: `${integer(scoped)} small ops, scopes of 100`, limit: 'left < 5 MB' },
});

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function memorySection(plan, measured) {
  const memory = await measured.memory();
  const rows = Object.entries(loops(plan.loops)).map(([name, { title, limit }]) => {
    const figures = (rounds) =>
      ['peak', 'growth', 'left'].map((field) =>
        rounds === undefined ? none : megabytes(median(rounds.map((bytes) => bytes[field]))),
      );
    return [title, ...figures(memory[name].node), ...figures(memory[name].python), limit];
  });
  const heads = ['Node', 'PyTorch'].flatMap((name) => [`${name} peak`, `${name} growth`, `${name} left`]);
  return [
    '## Memory',
    `Medians of ${plan.memoryRounds} processes: peak RSS of the process; the largest growth of RSS during the loop; and ` +
      'the growth that remains right after the loop, without a forced collection. The warm-up before the loop is a tenth ' +
      'of the iterations for the small ops, and 100 `add`s for the others. PyTorch frees by reference counts and does ' +
      'not have scopes.',
    table(['', ...heads, 'Must hold'], rows),
  ].join('\n\n');
}
