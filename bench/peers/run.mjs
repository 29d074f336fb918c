/**
 * Runs the same work in this library, in other packages, in PyTorch and in C++; `npm run bench:peers` builds what this needs and
 * starts it. Markdown goes to stdout, progress to stderr; --write also writes docs/benchmarks.md.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inRoot } from '../../scripts/paths.mjs';
import { runMain, StepError } from '../../scripts/steps/errors.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { ensureCppPrograms } from '../measure/cpp.mjs';
import { machine } from '../support/machine.mjs';
import { pythonWithTorch } from '../support/python.mjs';
import { figuresOf, inTurn } from '../support/turns.mjs';
import { commandsOf, ensurePackages } from './programs.mjs';
import { report } from './report.mjs';
import { differences } from './values.mjs';

const usage = `usage: npm run bench:peers -- [--quick] [--write]
  --quick  fewer and shorter rounds
  --check  prints the numbers that each program computes, as JSON, instead of measuring; installs nothing
  --write  writes docs/benchmarks.md too`;

/** Sizes: elements of the small op, side of the middle one, of the product, pictures and rows of a batch. */
const plans = {
  full: { detail: 'full run', sizes: [16, 256, 256, 8, 32], rounds: 11, ms: 200, iterations: 10_000 },
  quick: { detail: 'quick run', isShort: true, sizes: [16, 256, 256, 8, 32], rounds: 5, ms: 40, iterations: 1000 },
  check: { detail: 'check', sizes: [16, 4, 4, 2, 3], rounds: 0, ms: 1, iterations: 10 },
};

const CASES = ['small', 'mid', 'mm', 'cnn', 'train'];

function readOptions() {
  const flag = { type: 'boolean', default: false };
  try {
    return parseArgs({ options: { help: flag, quick: flag, check: flag, write: flag } }).values;
  } catch (error) {
    throw new StepError(`${error.message}\n${usage}`);
  }
}

/** What each program computes, by case; nothing for a case that it does not have. */
async function valuesOf(commands) {
  const questions = CASES.map((name) => ({ name, text: `check ${name}` }));
  const answers = await inTurn({ commands, questions, rounds: 1, seconds: 300, warmUp: false });
  return figuresOf(answers, 'values');
}

/** The growth of memory in runs of the middle ops, in a process of its own for each program that has them. */
async function growthOf(commands, values, iterations) {
  const of = Object.keys(commands).filter((program) => values[program].mid[0] !== undefined);
  const questions = [{ name: 'memory', text: `memory ${iterations}`, of }];
  const answers = await inTurn({ commands, questions, rounds: 1, seconds: 1200, warmUp: false });
  return Object.fromEntries(Object.entries(answers).map(([name, { memory }]) => [name, memory[0].growth]));
}

await runMain(async () => {
  const options = readOptions();
  if (options.help) return void process.stdout.write(`${usage}\n`);
  const plan = options.check ? plans.check : options.quick ? plans.quick : plans.full;
  await ensurePackages({ install: !options.check });
  await ensureCppPrograms();
  const python = pythonWithTorch();
  const { commands, missing } = commandsOf(plan.sizes, python);
  const values = await step('what they compute', () => valuesOf(commands));
  const wrong = differences(values);
  if (wrong.length > 0) throw new StepError(`The programs do not compute the same numbers:\n${wrong.join('\n')}`);
  if (options.check) return void process.stdout.write(`${JSON.stringify({ values, missing })}\n`);

  const questions = CASES.map((name) => ({
    name,
    text: `${name} ${plan.ms}`,
    of: Object.keys(commands).filter((program) => values[program][name][0] !== undefined),
  }));
  const answers = await step('times', () => inTurn({ commands, questions, rounds: plan.rounds, seconds: 300 }));
  const growth = await step('memory', () => growthOf(commands, values, plan.iterations));
  const version =
    python && spawnSync(python, ['-c', 'import torch; print(torch.__version__)'], { encoding: 'utf8' }).stdout.trim();
  const text = report({
    head: machine(plan.detail),
    python: version,
    ns: figuresOf(answers, 'ns'),
    cpu: figuresOf(answers, 'cpu'),
    growth,
    missing,
    plan,
  });
  process.stdout.write(text);
  if (options.write) writeFileSync(inRoot('docs', 'benchmarks.md'), text);
});
