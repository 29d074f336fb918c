/** docs/benchmarks.md: ratios only, and the cases that we lose. */
import { megabytes, none, table } from '../support/markdown.mjs';
import { ratio } from '../support/stats.mjs';
import { CPP, OURS, programs } from './programs.mjs';

/** Closer than this counts as equal. */
const EQUAL = 1.05;

/** @param {{ sizes: number[] }} plan */
const titlesOf = ({ sizes: [small, mid, mm, images, rows] }) => ({
  small: `small op: the sum of two tensors of ${small} elements`,
  mid: `middle ops: \`relu(x * y + z)\`, ${mid}×${mid}`,
  mm: `matrix product, ${mm}×${mm}`,
  cnn: `inference: two convolutions, pools and a linear layer, ${images} images of 16×16`,
  train: `training step: 784, 128, 10 units, ${rows} rows, cross entropy, Adam`,
});

const figure = (value) => (value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US'));

/** The ratios to C++, a row for each case and a column for each program. */
function ratios(figures, titles, columns) {
  const rows = Object.entries(titles).map(([name, title]) => [
    title,
    ...columns.map((program) => {
      const values = figures[program][name];
      return values === undefined ? none : figure(ratio(values, figures[CPP][name]));
    }),
  ]);
  return table(['', ...columns], rows);
}

/** Sentences: where another program needs less time than ours. */
function losses(figures, titles) {
  return Object.entries(titles).flatMap(([name, title]) =>
    Object.keys(figures)
      .filter((program) => !program.startsWith(OURS) && figures[program][name] !== undefined)
      .map((program) => ({ program, times: ratio(figures[OURS][name], figures[program][name]) }))
      .filter(({ times }) => times > EQUAL)
      .map(({ program, times }) => `- ${title}: ${times.toFixed(2)} × the time of ${program}.`),
  );
}

/** How the resident set of each program grew. */
const memoryOf = (growth, plan) => [
  '## Memory',
  `Bytes by which the resident set of a new process grew in ${plan.iterations.toLocaleString('en-US')} runs of the middle ops, after 100.`,
  table(
    ['', 'RSS grew by'],
    Object.entries(growth).map(([name, bytes]) => [name, megabytes(bytes)]),
  ),
];

/**
 * @param {{ head: string, python: string | undefined, ns: Record<string, Record<string, number[]>>,
 *   cpu: Record<string, Record<string, number[]>>, growth: Record<string, number>, missing: string[], plan: any }} measured
 */
export function report({ head, python, ns, cpu, growth, missing, plan }) {
  const titles = titlesOf(plan);
  const columns = Object.keys(ns).filter((name) => name !== CPP);
  const versions = Object.entries(programs).flatMap(([name, { version }]) => (version && ns[name] ? [version] : []));
  if (python) versions.unshift(`PyTorch ${python}`);
  const lost = losses(cpu, titles);
  return `${[
    '# The same work in other packages',
    'This page compares libtorch-node with other packages, PyTorch and C++ that do the same work. `npm run bench:peers -- --write` ' +
      'wrote it. Each program computes the same numbers (`test/bench/peers.test.ts`), on one ' +
      'thread, all in turn. A figure is the time as a multiple of C++ with the same libtorch: the median of the ratios within ' +
      `${plan.rounds} rounds, so less is better. A dash (${none}) means that the package cannot do it.`,
    head,
    ...(plan.isShort
      ? ['A quick run has few and short rounds: a figure of it may be far off, and memory is not judged.']
      : []),
    `${versions.join(', ')}.`,
    '## CPU time',
    'Of all threads of the process, so it depends less on what else the machine does.',
    ratios(cpu, titles, columns),
    '## Wall time',
    ratios(ns, titles, columns),
    ...(plan.isShort ? [] : memoryOf(growth, plan)),
    '## Where libtorch-node is slower',
    'In CPU time, in a scope, by more than 5%:',
    lost.length > 0 ? lost.join('\n') : 'Nowhere in this run.',
    '## Programs',
    Object.entries(programs)
      .map(([name, { file }]) => `- ${name}: \`${file}\``)
      .join('\n'),
    'libtorch-node frees results at the end of a scope; “no scopes” leaves them to the garbage collector, and “optimized model” runs ' +
      'the model as TorchScript after `torch.jit.optimizeForInference`. tfjs frees them in ' +
      '`tf.tidy`. onnxruntime-node runs models, so each case is a model of these ops, and its calls are asynchronous; it does ' +
      'not train. js-pytorch has no convolutions; its ReLU is made of `masked_fill`, because its own is a leaky one, and its Adam has ' +
      'no bias correction.',
    ...(missing.length > 0 ? ['## Not measured', missing.map((line) => `- ${line}`).join('\n')] : []),
  ].join('\n\n')}\n`;
}
