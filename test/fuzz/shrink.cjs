/** Makes the plan of a finding smaller, as long as the call still shows it. */
'use strict';

const { runChild } = require('./run.cjs');

/** Simpler values in place of one, the simplest first. */
function* simpler(spec) {
  if (Array.isArray(spec)) {
    if (spec.length > 0) yield [];
    for (let i = 0; i < spec.length; i++) yield [...spec.slice(0, i), ...spec.slice(i + 1)];
    for (let i = 0; i < spec.length; i++) {
      for (const item of simpler(spec[i])) yield [...spec.slice(0, i), item, ...spec.slice(i + 1)];
    }
    return;
  }
  if (typeof spec === 'number' && spec !== 0) {
    yield 0;
    if (spec !== 1) yield 1;
    if (spec !== -1 && spec < 0) yield -1;
    return;
  }
  if (typeof spec !== 'object' || spec === null) return;
  if (spec.big !== undefined) yield* [0, 1, -1, 2 ** 40];
  if (spec.tensor === undefined) return;
  for (const name of ['form', 'fill']) {
    const { [name]: old, ...rest } = spec;
    if (old !== undefined) yield rest;
  }
  if (spec.dtype !== 'float32') yield { ...spec, dtype: 'float32' };
  for (let i = 0; i < spec.tensor.length; i++) {
    yield { ...spec, tensor: [...spec.tensor.slice(0, i), ...spec.tensor.slice(i + 1)] };
    if (spec.tensor[i] > 2) yield { ...spec, tensor: spec.tensor.map((size, j) => (i === j ? 2 : size)) };
    if (spec.tensor[i] > 1) yield { ...spec, tensor: spec.tensor.map((size, j) => (i === j ? 1 : size)) };
  }
}

/** Plans that are simpler by one step. */
function* candidates(plan) {
  for (const name of ['after', 'through']) {
    const { [name]: old, ...rest } = plan;
    if (old !== undefined) yield rest;
  }
  for (const name of Object.keys(plan.options ?? {})) {
    const { [name]: _, ...options } = plan.options;
    yield { ...plan, options };
  }
  if (plan.args.length > 0) yield { ...plan, args: plan.args.slice(0, -1) };
  for (const args of simpler(plan.args)) if (args.length === plan.args.length) yield { ...plan, args };
  for (const [name, spec] of Object.entries(plan.options ?? {})) {
    for (const value of simpler(spec)) yield { ...plan, options: { ...plan.options, [name]: value } };
  }
}

/** How many children one finding is worth. */
const MOST = { crash: 40, slow: 3, memory: 3 };

/** The index of the first of the plans that shows the finding, or -1. A crash ends the child, so the rest is not tried. */
async function firstThatShows(lib, plans, kind) {
  const told = await runChild(lib, { plans }, { checkMalloc: kind === 'crash' });
  if (told.end === kind) return told.index;
  const shown = new Set(
    told.findings.filter((finding) => finding.kind === kind).map(({ plan }) => JSON.stringify(plan)),
  );
  return plans.findIndex((plan) => shown.has(JSON.stringify(plan)));
}

/** The smallest plan found that shows the finding alone; undefined if the call alone does not show it. */
async function shrunk(lib, { plan, kind }) {
  if ((await firstThatShows(lib, [plan], kind)) < 0) return undefined;
  let best = plan;
  for (let tries = MOST[kind] ?? 20; tries > 0; tries--) {
    const list = [...candidates(best)].filter((other) => JSON.stringify(other) !== JSON.stringify(best));
    const at = list.length === 0 ? -1 : await firstThatShows(lib, list, kind);
    if (at < 0) break;
    best = list[at];
  }
  return best;
}

module.exports = { candidates, shrunk };
