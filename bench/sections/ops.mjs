/** Six ops: C++, PyTorch, and Node in a scope, in a scope per op, and garbage-collected, in turn within each round. */
import path from 'node:path';
import { buildDir, inRoot } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { withLock } from '../../scripts/steps/lock.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { filesBelow, isUpToDate, whenChanged } from '../../scripts/steps/stamps.mjs';
import { Responder } from '../support/child.mjs';
import { none, range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

const ops = {
  add: '`add`',
  add_: '`add_`',
  view: '`view`',
  empty: '`empty`',
  sum: '`sum`',
  mm: '`mm` 128×128',
};

const lifetimes = { scope: 'Node, scope', gc: 'Node, GC', 'scope-per-op': 'Node, scope per op' };

const cppDir = path.join(buildDir, 'bench');
const cppProgram = path.join(cppDir, 'bench_ops');

/** The C++ program, compiled when it or the way to libtorch changed. */
async function ensureCppProgram() {
  const inputs = { files: filesBelow(['bench/cpp', 'scripts/libtorch.mjs'], ['']), outputs: [cppProgram] };
  if (isUpToDate('bench', inputs)) return; // without waiting for somebody else's build
  const compile = () =>
    step('the C++ benchmark: compiling', async () => {
      const configure = ['-S', inRoot('bench', 'cpp'), '-B', cppDir, `-DLTN_NODE=${process.execPath}`];
      await runLogged('bench', 'cmake', configure);
      await runLogged('bench', 'cmake', ['--build', cppDir], { append: true });
    });
  await withLock(() => whenChanged('bench', inputs, compile));
}

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @returns {Promise<Record<'ns' | 'cpu', Record<string, Record<string, number[]>>>>} by clock, program, op and round
 */
async function measure({ rounds, ms }, python) {
  const commands = {
    cpp: [cppProgram],
    ...(python === undefined ? {} : { python: [python, inRoot('bench', 'python', 'ops.py')] }),
    ...Object.fromEntries(
      Object.keys(lifetimes).map((lifetime) => [
        lifetime,
        [process.execPath, inRoot('bench', 'node', 'ops.cjs'), lifetime],
      ]),
    ),
  };
  const programs = Object.entries(commands).map(([name, command]) => ({ name, child: new Responder(name, command) }));
  const empty = () =>
    Object.fromEntries(programs.map(({ name }) => [name, Object.fromEntries(Object.keys(ops).map((op) => [op, []]))]));
  const result = { ns: empty(), cpu: empty() };
  const bound = 60 + (100 * ms) / 1000;
  try {
    // The warm-up is the first round, not counted: it loads libtorch and lets the JIT settle.
    for (let round = -1; round < rounds; round++) {
      for (const op of Object.keys(ops)) {
        for (const { name, child } of programs) {
          const cost = await child.ask(`${op} ${ms}`, bound);
          if (round >= 0) for (const clock of ['ns', 'cpu']) result[clock][name][op].push(cost[clock]);
        }
      }
    }
  } finally {
    for (const { child } of programs) child.end();
  }
  return result;
}

/** @param {Record<string, Record<string, number[]>>} all by program, op and round */
function ratioTable(all) {
  const compared = Object.entries(lifetimes);
  const against = (op, base) =>
    compared.map(([name]) => (all[base] === undefined ? none : times(ratio(all[name][op], all[base][op]))));
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

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function opsSection(plan, python) {
  await ensureCppProgram();
  const { ns, cpu } = await step('ops', () => measure(plan, python));
  const programs = Object.keys(ns);
  const titles = { cpp: 'C++', python: 'PyTorch', ...lifetimes };
  const nanoseconds = Object.entries(ops).map(([op, title]) => [
    title,
    ...programs.map((name) => range(summarise(ns[name][op]))),
  ]);
  const figures = programs.flatMap((name) =>
    Object.entries(ops).map(([op, title]) => [`${title} from ${titles[name]}`, summarise(ns[name][op])]),
  );
  return [
    '## Ops',
    `Tensors of one float32 unless said otherwise; one thread; ${plan.rounds} rounds of ${plan.ms} ms a figure, all ` +
      'programs in turn within each round. "Scope" is `torch.scope` around 1,000 calls (20 of `mm`), "GC" has no scope ' +
      'and disposes nothing. C++ and PyTorch free each result at once.',
    '### Time as a multiple of C++ and of PyTorch: medians of the ratios within a round',
    ratioTable(ns),
    '### Nanoseconds a call: median (least–most)',
    table(['', ...programs.map((name) => titles[name])], nanoseconds),
    noise(figures),
    "### CPU time as the same multiples: the collector's threads count, other programs on the machine do not",
    ratioTable(cpu),
  ].join('\n\n');
}
