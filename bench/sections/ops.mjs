/** The ops, as ratios and in nanoseconds. */
import { lifetimes, ops } from '../measure/ops.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

const titlesOfNode = { ...lifetimes, captured: 'Node, captured' };

/** @param {Record<string, Record<string, number[]>>} all by program, op and round */
function ratioTable(all) {
  const compared = Object.entries(titlesOfNode);
  const against = (op, base) =>
    compared.map(([name]) =>
      all[base] === undefined || all[name][op] === undefined ? none : times(ratio(all[name][op], all[base][op])),
    );
  const rows = Object.entries(ops).map(([op, title]) => [
    title,
    ...against(op, 'cpp'),
    all.python === undefined ? none : times(ratio(all.python[op], all.cpp[op])),
    ...against(op, 'python'),
  ]);
  const heads = compared.map(([, title]) => title);
  return table(
    ['', ...heads.map((head) => `${head} / C++`), 'PyTorch / C++', ...heads.map((head) => `${head} / PyTorch`)],
    rows,
  );
}

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function opsSection(plan, measured) {
  const { ns, cpu } = await measured.ops();
  const programs = Object.keys(ns);
  const titles = { cpp: 'C++', python: 'PyTorch', ...titlesOfNode };
  const nanoseconds = Object.entries(ops).map(([op, title]) => [
    title,
    ...programs.map((name) => (ns[name][op] === undefined ? none : range(summarise(ns[name][op])))),
  ]);
  const figures = programs.flatMap((name) =>
    Object.entries(ops)
      .filter(([op]) => ns[name][op] !== undefined)
      .map(([op, title]) => [`${title} from ${titles[name]}`, summarise(ns[name][op])]),
  );
  return [
    '## Ops',
    `Tensors of one float32 unless noted otherwise; one thread; ${plan.rounds} rounds of ${plan.ms} ms per figure, all ` +
      'programs in turn within each round. "Scope" is `torch.scope` around 1,000 calls (20 of `mm`, 10 of the ' +
      'expression), "GC" runs without scopes and dispose. C++ and PyTorch free each result at once. The expression is ' +
      '`x = x.mul(a).add(b).sub(c).relu()`, repeated 25 times in a loop, written the same way in all three languages; C++ ' +
      'and PyTorch free each temporary at the end of its line, a scope keeps all of them until it ends, and a replay of `torch.capture` frees each after its last use.',
    '### Time as a multiple of C++ and of PyTorch: medians of the ratios within a round',
    ratioTable(ns),
    '### Nanoseconds per call: median (min–max)',
    table(['', ...programs.map((name) => titles[name])], nanoseconds),
    noise(figures),
    "### CPU time as the same multiples: includes the collector's threads, but not other programs on the machine",
    ratioTable(cpu),
  ].join('\n\n');
}
