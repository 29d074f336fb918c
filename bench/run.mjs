/**
 * Runs the benchmarks; `npm run bench` builds what they need and starts this.
 *
 *   node bench/run.mjs [--quick] [--types] [--build] [--write] [--only goals,ops,…] [--compare FILE] [--save FILE]
 *
 * `--quick --only goals` takes about a minute.
 * Markdown goes to stdout, progress to stderr; --write also writes these sections of bench/RESULTS.md, which the README quotes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { findLibtorch } from '../scripts/libtorch.mjs';
import { runMain, StepError } from '../scripts/steps/errors.mjs';
import { say } from '../scripts/steps/progress.mjs';
import { forms } from './measure/calls.mjs';
import { measurements } from './measured.mjs';
import { plans } from './plan.mjs';
import { asyncSection } from './sections/async.mjs';
import { auditSection } from './sections/audit.mjs';
import { buildSection } from './sections/build.mjs';
import { callsSection } from './sections/calls.mjs';
import { compareSection } from './sections/compare.mjs';
import { dataSection } from './sections/data.mjs';
import { ddpSection } from './sections/ddp.mjs';
import { digitsSection } from './sections/digits.mjs';
import { everydaySection } from './sections/everyday.mjs';
import { examplesSection } from './sections/examples.mjs';
import { filesSection } from './sections/files.mjs';
import { goalsSection } from './sections/goals.mjs';
import { guardsSection } from './sections/guards.mjs';
import { httpSection } from './sections/http.mjs';
import { loadSection } from './sections/load.mjs';
import { memorySection } from './sections/memory.mjs';
import { opsSection } from './sections/ops.mjs';
import { optimSection } from './sections/optim.mjs';
import { pprofSection } from './sections/pprof.mjs';
import { reportsSection } from './sections/reports.mjs';
import { scopesSection } from './sections/scopes.mjs';
import { trainSection } from './sections/train.mjs';
import { typesSection } from './sections/types.mjs';
import { confirmed, placeOf, pooled, RUNS, ratiosOf, toleranceFor } from './support/baseline.mjs';
import { machine } from './support/machine.mjs';
import { pythonWithTorch } from './support/python.mjs';
import { writeSections } from './support/results.mjs';

const sections = {
  goals: goalsSection,
  ops: opsSection,
  calls: callsSection,
  everyday: everydaySection,
  guards: guardsSection,
  scopes: scopesSection,
  digits: digitsSection,
  optim: optimSection,
  train: trainSection,
  ddp: ddpSection,
  data: dataSection,
  files: filesSection,
  examples: examplesSection,
  load: loadSection,
  memory: memorySection,
  async: asyncSection,
  audit: auditSection,
  http: httpSection,
  pprof: pprofSection,
  reports: reportsSection,
  types: typesSection,
  build: buildSection,
};

const usage = `usage: npm run bench -- [--quick] [--types] [--build] [--write] [--only goals,ops,…]
  --quick   fewer rounds: minutes, rougher figures
  --only    sections, by comma: ${Object.keys(sections).join(', ')}
  --types   also what the declarations cost the compiler
  --build   also what building costs (compiles the addon anew)
  --write   writes these sections of bench/RESULTS.md too, which the README quotes
  --save    writes the ratios of ops and calls with their confidence to a file, as a baseline, from ${RUNS} runs
  --compare compares them with such a file, and fails if a ratio got worse beyond doubt in up to ${RUNS} runs`;

function readOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        quick: { type: 'boolean', default: false },
        tiny: { type: 'boolean', default: false },
        build: { type: 'boolean', default: false },
        types: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        save: { type: 'string' },
        compare: { type: 'string' },
        only: {
          type: 'string',
          default:
            'goals,ops,calls,everyday,guards,scopes,digits,optim,train,data,files,examples,load,memory,async,audit,http,pprof,reports',
        },
      },
    }).values;
  } catch (error) {
    throw new StepError(`${error.message}\n${usage}`);
  }
}

function readBaseline(file) {
  try {
    const { place, ratios } = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof place?.processor !== 'string' || typeof ratios !== 'object')
      throw new Error('it has no place or no ratios');
    return { place, ratios };
  } catch (error) {
    throw new StepError(`--compare: expected a file that --save wrote, got ${file}: ${error.message}`);
  }
}

await runMain(async () => {
  const options = readOptions();
  if (options.help) return void process.stdout.write(`${usage}\n`);
  const plan = options.tiny ? plans.tiny : options.quick ? plans.quick : plans.full;
  const chosen = new Set([
    ...options.only.split(','),
    ...(options.types ? ['types'] : []),
    ...(options.build ? ['build'] : []),
  ]);
  for (const name of chosen) {
    if (!Object.hasOwn(sections, name)) {
      throw new StepError(`--only: no section ${name}; there are ${Object.keys(sections).join(', ')}.`);
    }
  }
  const python = pythonWithTorch();
  if (python === undefined)
    say('No Python with torch was found, so the PyTorch columns stay empty (Debian: python3-torch).');
  const head = machine(plan.detail);
  const parts = [];
  const measured = measurements(plan, python, chosen);
  for (const [name, section] of Object.entries(sections)) {
    if (chosen.has(name)) parts.push(await section(plan, measured, python));
  }
  const measuredSections = parts.join('\n\n');
  /** The first is the run of the sections; each further one starts its programs anew. */
  const everything = new Set(['ops', 'calls']);
  let runs = 0;
  const isWhole = [...everything].every((name) => chosen.has(name));
  const run = () => ratiosOf(runs++ === 0 && isWhole ? measured : measurements(plan, undefined, everything), forms);
  const place = placeOf(findLibtorch().version);
  const worse = [];
  if (options.compare !== undefined) {
    const base = readBaseline(options.compare);
    const tolerance = toleranceFor(base.place, place);
    const result = await confirmed(base.ratios, run, tolerance);
    worse.push(...result.worse);
    parts.push(compareSection(result, tolerance, base.place));
  }
  if (options.save !== undefined) {
    const all = [];
    while (all.length < RUNS) all.push(await run());
    writeFileSync(options.save, `${JSON.stringify({ place, ratios: pooled(all) }, null, 2)}\n`);
  }
  process.stdout.write(`${['# Benchmarks', head, ...parts].join('\n\n')}\n`);
  if (options.write) writeSections(measuredSections, head);
  if (worse.length > 0) {
    throw new StepError(`--compare: worse than the baseline: ${worse.join('; ')}.`);
  }
});
