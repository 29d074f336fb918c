/** A campaign: calls of a seed in child processes, one after another or several at a time; after an end, the rest goes on. */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { runChild } = require('./run.cjs');
const { shrunk } = require('./shrink.cjs');

/** Calls that one child makes at most: what a call breaks silently is found soon, by one of the next. */
const BATCH = 5_000;
/** A target that ended so many children is left out of what follows, so that the others are called. */
const ENOUGH = 2;

/** What a child of which all calls were made, and which did not end well, is reported as. */
const AT_THE_END = { target: '(the end of the process)', args: [] };

const exactly = (target) => `^${target.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
const keyOf = ({ kind, plan }) => `${kind}: ${plan.target}`;

/** Makes the calls `first` to `end` in children; gives the findings to `found`. */
async function runRange(lib, range, state) {
  const { source, skip, confirm, captureFile, found, unconfirmed, add, ends } = state;
  for (let at = range.first; at < range.end; ) {
    const worn = [...ends].filter(([, count]) => count >= ENOUGH).map(([name]) => exactly(name));
    const options = { ...source, first: at, end: range.end, skip: [...skip, ...worn], captureFile };
    const told = await runChild(lib, options);
    add(told);
    for (const finding of told.findings) found(finding);
    if (told.end === 'done') return;
    if (told.index < 0) throw new Error(`the child made no call: ${told.signal}\n${told.stderr}`);
    const plan = told.plan ?? AT_THE_END;
    ends.set(plan.target, (ends.get(plan.target) ?? 0) + 1);
    const detail = told.end === 'crash' ? `${told.signal} ${told.stderr.slice(-300)}` : '';
    const again = confirm ? await runChild(lib, { ...options, end: told.index + 1 }) : told;
    const finding = { kind: told.end, plan, detail, index: told.index, first: at };
    if (again.end === told.end && again.index === told.index) found(finding);
    else unconfirmed(finding);
    at = told.index + 1;
  }
}

/** Plans by their indices. */
async function plansOf(lib, options) {
  const told = await runChild(lib, options);
  return told.findings;
}

/** The calls before one that died only after them: the least list that still ends the child. */
async function leastList(lib, source, { first, index }) {
  const indices = Array.from({ length: index - first + 1 }, (_, i) => first + i).slice(-400);
  let plans = await plansOf(lib, { ...source, show: indices });
  const ends = async (list) => (await runChild(lib, { plans: list }, { checkMalloc: true })).end === 'crash';
  if (!(await ends(plans))) return undefined;
  for (let size = plans.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < plans.length; ) {
      const fewer = [...plans.slice(0, at), ...plans.slice(at + size)];
      if (fewer.length > 0 && (await ends(fewer))) plans = fewer;
      else at += size;
    }
  }
  return plans;
}

/** What the campaign stores of a finding: the plans that show it, as small as they were made. */
async function reduced(lib, finding, { source }) {
  const alone = await shrunk(lib, finding);
  if (alone !== undefined) return { ...finding, plans: [alone] };
  if (finding.kind !== 'crash') return { ...finding, plans: [finding.plan] };
  const plans = await leastList(lib, source, finding);
  return { ...finding, plans: plans ?? [finding.plan], again: plans !== undefined };
}

/**
 * Runs `calls` calls. `workers` children run at a time. The answer has the figures and a finding for each kind and target.
 * With `sweep` the calls are those of a sweep instead of a seed's. Targets of the patterns in `skip` are not called. With `confirm`,
 * an end counts only if the same calls end a second child at the same one: what damages the heap may end the process anywhere, or
 * not. `progress` is called after each child, `first` with the first finding of a kind at a target.
 */
async function campaign(lib, options) {
  const { seed, sweep, calls, only, skip = [], workers = 1, confirm = false, shrink = true } = options;
  const { progress = () => {}, first = () => {} } = options;
  const findings = new Map();
  const figures = { results: 0, errors: 0, crashes: 0, slow: 0, memory: 0, noCode: 0, left: 0 };
  const names = { crash: 'crashes', 'no code': 'noCode' };
  const ends = new Map();
  const unsure = [];
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-fuzz-'));
  const state = {
    source: { seed, sweep, only },
    skip,
    confirm,
    captureFile: path.join(folder, 'good.ltna'),
    ends,
    unconfirmed: (finding) => unsure.push(finding),
    found(finding) {
      figures[names[finding.kind] ?? finding.kind]++;
      const key = keyOf(finding);
      if (findings.has(key)) return;
      findings.set(key, finding);
      first(finding);
    },
    add({ results, errors }) {
      figures.results += results;
      figures.errors += errors;
      progress({ ...figures, findings: findings.size });
    },
  };
  let next = 0;
  const worker = async () => {
    while (next < calls) {
      const first = next;
      next = Math.min(calls, next + BATCH);
      await runRange(lib, { first, end: next }, state);
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, worker));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  const list = [];
  for (const finding of findings.values()) list.push(shrink ? await reduced(lib, finding, state) : finding);
  const leftOut = [...ends].filter(([, count]) => count >= ENOUGH).map(([name]) => name);
  return { seed, calls, figures, findings: list, unsure, leftOut };
}

module.exports = { campaign };
