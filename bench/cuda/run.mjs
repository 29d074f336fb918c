/**
 * npm run bench:cuda: the same work on the device 0 by this library and by PyTorch, as ratios; Markdown on stdout, for docs/cuda.md.
 *
 *   --app FOLDER   the libtorch-node that is installed in a folder, instead of this checkout's
 *   --check        on the CPU and with small sizes: prints what each program computes, as JSON, instead of measuring
 */
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { inRoot } from '../../scripts/paths.mjs';
import { runMain, StepError } from '../../scripts/steps/errors.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { machine } from '../support/machine.mjs';
import { megabytes, none, table } from '../support/markdown.mjs';
import { pythonWithTorch } from '../support/python.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';

/** Sizes: side of the middle op and of the product, width and tokens of the decoder, pictures of a batch. */
const full = { device: 'cuda', sizes: [2048, 512, 256, 64], rounds: 7, ms: 300, iterations: 2000 };
const check = { device: 'cpu', sizes: [4, 16, 3, 2], rounds: 0, ms: 1, iterations: 2 };
const TITLES = {
  small: 'small op: the sum of two tensors of 16 elements',
  mid: 'middle ops: `relu(x * y + z)`, 2048×2048',
  mm: 'matrix product, 2048×2048',
  decode: 'decoder: one token, 4 blocks of width 512, 256 tokens in the cache',
  train: 'training step: two convolutions with BatchNorm, 64 images of 3×32×32, Adam',
};
const CASES = Object.keys(TITLES);
/** A captured function is another program only where it is called. */
const CAPTURED = ['mid', 'decode'];
const PYTHON = 'PyTorch';
const REPLAYED = 'captured';
const OURS = { 'libtorch-node': [], 'no scopes': ['gc'], [REPLAYED]: ['capture'] };
const isAsked = (program, name) => program !== REPLAYED || CAPTURED.includes(name);

/** Closer than this counts as equal: rounding of float32 in another order. */
const RELATIVE = 1e-3;
const ABSOLUTE = 1e-4;

function commandsOf({ device, sizes }, app, python) {
  let ours = inRoot('bench', 'cuda', 'ours.cjs');
  if (app !== undefined) {
    for (const name of ['cuda/ours.cjs', 'peers/serve.cjs'])
      cpSync(inRoot('bench', name), path.join(app, 'bench', name));
    ours = path.resolve(app, 'bench', 'cuda', 'ours.cjs');
  }
  const words = [device, ...sizes.map(String)];
  const commands = Object.entries(OURS).map(([name, mode]) => [name, [process.execPath, ours, ...words, ...mode]]);
  return Object.fromEntries([...commands, [PYTHON, [python, inRoot('bench', 'cuda', 'pytorch.py'), ...words]]]);
}

/** What differs from PyTorch's numbers. */
function differences(values) {
  return Object.entries(values).flatMap(([program, cases]) =>
    Object.entries(cases).flatMap(([name, [got]]) => {
      const expected = values[PYTHON][name][0];
      const equal = (value, i) => Math.abs(value - expected[i]) <= ABSOLUTE + RELATIVE * Math.abs(expected[i]);
      const same = got.length === expected.length && got.every(equal);
      return same ? [] : [`${program}, ${name}: expected ${expected.join(', ')}, got ${got.join(', ')}`];
    }),
  );
}

function cardName() {
  const { stdout } = spawnSync('nvidia-smi', ['--query-gpu=name', '--format=csv,noheader'], { encoding: 'utf8' });
  return stdout?.split('\n')[0] || 'unknown device';
}

function report({ ns, cpu, held, plan }) {
  const columns = Object.keys(OURS);
  const row = (figures) => (name) => [
    TITLES[name],
    ...columns.map((program) =>
      isAsked(program, name) ? ratio(figures[program][name], figures[PYTHON][name]).toFixed(2) : none,
    ),
  ];
  const all = [PYTHON, ...columns];
  const summaries = all.flatMap((program) =>
    Object.entries(ns[program]).map(([name, values]) => [`${program}, ${name}`, summarise(values)]),
  );
  return `${[
    machine(`full run on ${cardName()}`),
    `The time as a multiple of PyTorch's: the median of the ratios within ${plan.rounds} rounds. ${noise(summaries)}`,
    table(['wall time, until the device has finished', ...columns], CASES.map(row(ns))),
    table(['CPU time of the process', ...columns], CASES.map(row(cpu))),
    table(
      [`most memory that the allocator held in ${plan.iterations} runs of the middle ops`, ...all],
      [['', ...all.map((program) => megabytes(held[program]))]],
    ),
  ].join('\n\n')}\n`;
}

await runMain(async () => {
  const flags = { check: { type: 'boolean', default: false }, app: { type: 'string' } };
  const { values: options } = parseArgs({ options: flags });
  const plan = options.check ? check : full;
  const python = pythonWithTorch();
  if (python === undefined) throw new StepError('expected a python3 with torch on the PATH, or BENCH_PYTHON');
  const commands = commandsOf(plan, options.app, python);
  const programs = Object.keys(commands);
  const ask = (text, rest) => {
    const of = (name) => programs.filter((program) => isAsked(program, name));
    const questions = CASES.map((name) => ({ name, text: text(name), of: of(name) }));
    return inTurn({ commands, questions, seconds: 120, ...rest });
  };

  const values = figuresOf(await ask((name) => `check ${name}`, { rounds: 1, warmUp: false }), 'values');
  const wrong = differences(values);
  if (wrong.length > 0) throw new StepError(`The programs do not compute the same numbers:\n${wrong.join('\n')}`);
  if (options.check) return void process.stdout.write(`${JSON.stringify({ values })}\n`);

  const answers = await step('times', () => ask((name) => `${name} ${plan.ms}`, { rounds: plan.rounds }));
  const questions = [{ name: 'memory', text: `memory ${plan.iterations}` }];
  const memory = await step('memory', () => inTurn({ commands, questions, rounds: 1, seconds: 120, warmUp: false }));
  const held = Object.fromEntries(
    Object.entries(memory).map(
      ([
        name,
        {
          memory: [answer],
        },
      ]) => [name, answer.growth],
    ),
  );
  process.stdout.write(report({ ns: figuresOf(answers, 'ns'), cpu: figuresOf(answers, 'cpu'), held, plan }));
});
