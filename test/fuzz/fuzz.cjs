/**
 * npm run fuzz: calls everything with hostile values in child processes and prints what ended a process, came back without a code,
 * left a tensor or did not come back. Exit status 1 if there is such a finding.
 */
'use strict';

const { randomInt } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { commandLine, wrongUse } = require('../support/command-line.cjs');
const { callerOf, chosenOf } = require('./caller.cjs');
const { campaign } = require('./campaign.cjs');
const { memcheck } = require('./memcheck.cjs');
const { plansOfSweep } = require('./plan.cjs');
const { record } = require('./record.cjs');
const { sweepNames } = require('./sweeps.cjs');

const LIB = path.resolve(__dirname, '../../dist/lib');
const SEEDS = path.join(__dirname, 'seeds.json');

const USAGE = `usage: npm run fuzz -- [options]
  --calls N        how many calls (50000; 1e6 is allowed)
  --seed N         makes the calls of an earlier run, which printed its seed
  --only PATTERN   only calls whose 'kind name' fits: '^ops ', 'nn.functional', …
  --sweep NAME     instead, each of PyTorch's samples with each single change of a kind: ${sweepNames.join(', ')}
  --workers N      child processes at once (2)
  --no-shrink      findings are printed as found, not made smaller
  --store          adds the findings to test/fuzz/seeds.json
  --record         adds the figures to docs/reliability.md
  --fence end|start  tensors end (or start) at a page that cannot be touched
  --valgrind       the calls are made under memcheck`;

/** How many calls a sweep makes. */
function sweepCalls(sweep, only) {
  const { all } = callerOf(LIB, { found() {}, counted() {} });
  return plansOfSweep(sweep, chosenOf(all, only)).length;
}

/** The checked arguments. */
function settings() {
  const values = commandLine(USAGE, {
    calls: { type: 'string', default: '50000' },
    seed: { type: 'string' },
    only: { type: 'string' },
    workers: { type: 'string', default: '2' },
    store: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    valgrind: { type: 'boolean', default: false },
    fence: { type: 'string' },
    sweep: { type: 'string' },
  });
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const { sweep } = values;
  if (sweep !== undefined && !sweepNames.includes(sweep))
    wrongUse(`--sweep: expected ${sweepNames.join(', ')}, got ${sweep}`, USAGE);
  if (sweep !== undefined && values.valgrind) wrongUse('expected --sweep or --valgrind, got both', USAGE);
  const calls = sweep === undefined ? Number(values.calls) : sweepCalls(sweep, values.only);
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(calls))
    wrongUse('expected numbers for --seed and --calls', USAGE);
  if (values.fence !== undefined && !['end', 'start'].includes(values.fence))
    wrongUse(`--fence: expected end or start, got ${values.fence}`, USAGE);
  return { ...values, seed, calls };
}

const indented = (text) => text.replace(/\n/g, '\n  ');

async function underMemcheck({ seed, calls, only }, minutes) {
  const show = ({ kind, plan, detail }) => console.log(`${kind}: ${JSON.stringify(plan)}\n  ${indented(detail)}`);
  const reports = await memcheck(LIB, { seed, calls, only }, show);
  console.log(`${minutes()} min: ${calls} calls under memcheck, ${reports.length} kinds of reports`);
  process.exitCode = reports.length > 0 ? 1 : 0;
}

function printFindings(findings) {
  for (const { kind, plans, plan, detail, again } of findings) {
    console.log(`\n${kind}: ${plan.target}${again === false ? ' (not seen again)' : ''}\n  ${indented(detail)}`);
    for (const one of plans ?? [plan]) console.log(`  ${JSON.stringify(one)}`);
  }
}

async function main() {
  const values = settings();
  const { seed, sweep, calls } = values;
  if (values.fence !== undefined) process.env.LTN_FENCE_AT = values.fence; // the children's
  const { libtorchVersion } = require(LIB);
  const source = sweep === undefined ? `seed ${seed}` : `sweep of ${sweep}`;
  console.log(`libtorch ${libtorchVersion}, ${source}, ${calls} calls`);
  const start = process.hrtime.bigint();
  const minutes = () => (Number(process.hrtime.bigint() - start) / 6e10).toFixed(1);
  if (values.valgrind) return underMemcheck(values, minutes);
  const told = await campaign(LIB, {
    seed,
    sweep,
    calls,
    only: values.only,
    workers: Number(values.workers),
    shrink: !values['no-shrink'],
    first: ({ kind, plan }) => console.log(`${kind}: ${JSON.stringify(plan)}`),
    progress: (figures) => console.log(`${minutes()} min: ${JSON.stringify(figures)}`),
  });
  printFindings(told.findings);
  const row = {
    libtorch: libtorchVersion,
    ...(sweep === undefined ? { seed } : { sweep }),
    calls,
    minutes: minutes(),
    ...told.figures,
  };
  console.log(`\n${JSON.stringify(row)}`);
  if (told.leftOut.length > 0) console.log(`left out after two ends: ${told.leftOut.join(' ')}`);
  if (values.store) {
    const stored = JSON.parse(fs.readFileSync(SEEDS, 'utf8'));
    const release = libtorchVersion.split('.').slice(0, 2).join('.');
    for (const { kind, plans, again } of told.findings) if (again !== false) stored.push({ kind, release, plans });
    fs.writeFileSync(SEEDS, `${JSON.stringify(stored, null, 2)}\n`);
  }
  const fenced = values.fence === undefined ? '' : `, fence ${values.fence}`;
  if (values.record) record({ ...row, source: (sweep === undefined ? seed.toLocaleString('en') : source) + fenced });
  process.exitCode = told.findings.length > 0 ? 1 : 0;
}

main();
