/** The goals for speed and memory, and whether this run met them. */
import { optimizers } from '../measure/optim.mjs';
import { nets } from '../measure/train.mjs';
import { integer, megabytes, none, table, times, verdict } from '../support/markdown.mjs';
import { median, quartiles, ratio } from '../support/stats.mjs';
import { added } from './calls.mjs';
import { lossDifference } from './digits.mjs';
import { LEAST } from './examples.mjs';

/** @typedef {{ op: string, program: string, base: 'cpp' | 'python', most: number, title: string, below?: boolean }} OpGoal */

const baseTitles = { cpp: 'C++', python: 'PyTorch' };

/** `below`: the goal is to be faster, instead of at most `most` times as slow. @type {OpGoal[]} */
const opGoals = [
  { title: '`a.add(b)`, scope', op: 'add', program: 'scope', base: 'cpp', most: 1.15 },
  { title: '`a.add(b)`, scope', op: 'add', program: 'scope', base: 'python', most: 1, below: true },
  { title: '`m.sum([1], true)`, scope', op: 'sum_dim', program: 'scope', base: 'cpp', most: 1.15 },
  { title: '`m.sum([1], true)`, scope', op: 'sum_dim', program: 'scope', base: 'python', most: 1, below: true },
  { title: '`a.add(b)`, GC', op: 'add', program: 'gc', base: 'cpp', most: 1.5 },
  { title: '`view`, scope', op: 'view', program: 'scope', base: 'python', most: 0.5 },
  { title: '`empty`, scope', op: 'empty', program: 'scope', base: 'python', most: 0.5 },
  { title: '`view`, GC', op: 'view', program: 'gc', base: 'python', most: 0.8 },
  { title: '`empty`, GC', op: 'empty', program: 'gc', base: 'python', most: 0.8 },
  { title: '`a.sum()`, GC', op: 'sum', program: 'gc', base: 'python', most: 0.8 },
  { title: '`m.sum([1], true)`, GC', op: 'sum_dim', program: 'gc', base: 'python', most: 0.8 },
  { title: '100-op expression, one scope', op: 'expression', program: 'scope-per-op', base: 'cpp', most: 1.15 },
  { title: '100 ops of one element, `torch.capture`', op: 'chain', program: 'captured', base: 'cpp', most: 1 },
  { title: '100-op expression, `torch.capture`', op: 'expression', program: 'captured', base: 'cpp', most: 1 },
];

/** The programs that the goals need, by op. */
export const goalOps = {};
for (const { op, program, base } of opGoals) goalOps[op] = [...new Set([...(goalOps[op] ?? []), base, program])];

export const goalLoops = ['zeros', 'scoped'];
export const goalPasts = ['never', 'used', 'storage'];

const PEAK = 1.3;
const LEFT = 5e6;
const TRAINING = 1.1;
/** A cost of zero cannot be measured on a busy machine, so this is the tolerance; CPU time is less noisy than wall time. */
const NOTHING = 1.03;

/** "1.12× (1.05–1.20)" @param {number[]} values @param {number[]} base */
function middleHalf(values, base) {
  const [low, middle, high] = quartiles(values.map((value, round) => value / base[round]));
  return `${times(middle)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

/** @param {OpGoal} goal @param {Awaited<ReturnType<import('../measured.mjs').Measured['ops']>>} measured */
function opRow({ title, op, program, base, most, below }, { ns, cpu }) {
  const goal = below ? `faster than ${baseTitles[base]}` : `≤ ${most.toFixed(2)} × ${baseTitles[base]}`;
  if (ns[base] === undefined) return [title, goal, none, none, 'not measured'];
  const wall = ratio(ns[program][op], ns[base][op]);
  return [
    title,
    goal,
    middleHalf(ns[program][op], ns[base][op]),
    times(ratio(cpu[program][op], cpu[base][op])),
    verdict(below ? wall < most : wall <= most),
  ];
}

/** @param {import('../plan.mjs').Plan} plan @param {Awaited<ReturnType<import('../measured.mjs').Measured['memory']>>} memory */
function memoryRows(plan, { zeros, scoped }) {
  const peaks = (rounds) => rounds.map(({ peak }) => peak);
  const zerosRow = [`${integer(plan.loops.zeros)} × 1 MiB, undisposed: peak RSS`, `≤ ${PEAK.toFixed(2)} × PyTorch`];
  if (zeros.python === undefined) zerosRow.push(none, none, 'not measured');
  else {
    const [node, python] = [peaks(zeros.node), peaks(zeros.python)];
    const measured = `${times(ratio(node, python))} (${megabytes(median(node))} of ${megabytes(median(python))})`;
    zerosRow.push(measured, none, verdict(ratio(node, python) <= PEAK));
  }
  const left = median(scoped.node.map((bytes) => bytes.left));
  const scopedTitle = `${integer(plan.loops.scoped)} scoped small ops: RSS after against before`;
  return [zerosRow, [scopedTitle, `< ${megabytes(LEFT)}`, megabytes(left), none, verdict(left < LEFT)]];
}

/** @param {Awaited<ReturnType<import('../measured.mjs').Measured['digits']>>} digits */
function digitsRow(digits) {
  const row = ['full-batch training of the digits', `≤ ${TRAINING.toFixed(2)} × PyTorch`];
  if (digits.python === undefined) return [...row, none, none, 'not measured'];
  const figures = (clock) => ['node', 'python'].map((program) => digits[program].full.map((round) => round[clock]));
  const [wall, cpu] = [figures('ns'), figures('cpu')];
  lossDifference(digits, 'full'); // throws if the trainings differ
  return [...row, middleHalf(...wall), times(ratio(...cpu)), verdict(ratio(...wall) <= TRAINING)];
}

const NETS = { mlp: 0.95, cnn: 1, transformer: 1 };
const ADAM = 0.6;
const FUSED = 0.3;

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {Awaited<ReturnType<import('../measured.mjs').Measured['train']>>} train
 * @param {Awaited<ReturnType<import('../measured.mjs').Measured['optim']>>} optim
 */
function trainRows(plan, train, optim) {
  const row = (title, most, { ns, cpu }, name, base = name) => {
    const goal = `≤ ${most.toFixed(2)} × PyTorch`;
    if (ns.python === undefined) return [title, goal, none, none, 'not measured'];
    const [node, python] = [ns.node[name], ns.python[base]];
    const inCpu = times(ratio(cpu.node[name], cpu.python[base]));
    return [title, goal, middleHalf(node, python), inCpu, verdict(ratio(node, python) <= most)];
  };
  const { left } = train.left;
  return [
    row('Adam, a step of 100 × 1,000 parameters', ADAM, optim, 'adam'),
    ...(optimizers.fused === undefined
      ? []
      : [row('the same fused, PyTorch not fused', FUSED, optim, 'fused', 'adam')]),
    ...Object.entries(NETS).map(([name, most]) => row(`training step: ${nets[name]}`, most, train, name)),
    [
      `${integer(plan.steps)} training steps without a scope: RSS after against before`,
      `< ${megabytes(LEFT)}`,
      megabytes(left),
      none,
      verdict(left < LEFT),
    ],
  ];
}

/** @param {Awaited<ReturnType<import('../measured.mjs').Measured['examples']>>} measured */
function decodingRow({ ns, cpu }) {
  const row = ['decoding with a KV cache, 2 layers, d = 64: tokens/s', `≥ ${LEAST.toFixed(2)} × PyTorch`];
  if (ns.python === undefined) return [...row, none, none, 'not measured'];
  const measured = middleHalf(ns.python.llama, ns.node.llama);
  const wall = ratio(ns.python.llama, ns.node.llama);
  return [...row, measured, times(ratio(cpu.python.llama, cpu.node.llama)), verdict(wall >= LEAST)];
}

/** @param {Awaited<ReturnType<import('../measured.mjs').Measured['scopes']>>} measured */
function scopeRows({ ns, cpu }) {
  const row = (title, loop, past) => [
    title,
    `no more than before (≤ ${NOTHING.toFixed(2)}× in CPU time)`,
    middleHalf(ns[past][loop], ns.never[loop]),
    times(ratio(cpu[past][loop], cpu.never[loop])),
    verdict(ratio(cpu[past][loop], cpu.never[loop]) <= NOTHING),
  ];
  return [
    row('`a.add(b)`, a scope each, once async scopes were used', 'add-scope', 'used'),
    row('`a.add(b)`, GC, once async scopes were used', 'add-gc', 'used'),
    row('`a.add(b)`, a scope each, inside an AsyncLocalStorage', 'add-scope', 'storage'),
  ];
}

/** The largest cost of overload choice and options in a positional call, in ns. */
const CALL = 60;

/** @param {Awaited<ReturnType<import('../measured.mjs').Measured['calls']>>['ns']} ns */
function callRows(ns) {
  const row = (title, form, base) => {
    const more = added(ns[form], ns[base]);
    return [title, `≤ ${CALL} ns more than the raw entry`, `${more.toFixed(0)} ns`, none, verdict(more <= CALL)];
  };
  return [
    row('`a.add(b)`: overload choice and options', 'add-method', 'add-raw'),
    row('`torch.add(a, b)`: overload choice and options', 'add-function', 'add-raw'),
    row('`a.sum([1], true)`: overload choice and options', 'sum-list', 'sum-raw'),
    row('`a.sum(1, true)`: overload choice and options', 'sum-number', 'sum-raw'),
  ];
}

const SAVING = 1.1;

/** @param {import('../plan.mjs').Plan} plan @param {Awaited<ReturnType<import('../measured.mjs').Measured['files']>>} measured */
function savingRow({ fileBytes }, { ns, cpu }) {
  const row = [`\`torch.save\` of ${megabytes(fileBytes)}, both synced`, `≤ ${SAVING.toFixed(2)} × PyTorch`];
  if (ns.python === undefined) return [...row, none, none, 'not measured'];
  const [node, python] = [ns.node.synced, ns.python.synced];
  const inCpu = times(ratio(cpu.node.synced, cpu.python.synced));
  return [...row, middleHalf(node, python), inCpu, verdict(ratio(node, python) <= SAVING)];
}

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function goalsSection(plan, measured) {
  const ops = await measured.ops();
  const digits = await measured.digits();
  const scopes = await measured.scopes();
  const { ns: calls } = await measured.calls();
  const memory = await measured.memory();
  const examples = await measured.examples();
  const rows = [
    ...opGoals.map((goal) => opRow(goal, ops)),
    ...memoryRows(plan, memory),
    digitsRow(digits),
    ...trainRows(plan, await measured.train(), await measured.optim()),
    decodingRow(examples),
    savingRow(plan, await measured.files()),
    ...scopeRows(scopes),
    ...callRows(calls),
  ];
  return [
    '## Goals',
    `Wall time as a multiple: the median of the ratios within ${plan.rounds} rounds (${plan.digitsRounds} for the ` +
      'training), with the interquartile range in brackets. The verdict uses the median. CPU time is less noisy on a ' +
      "shared machine, but includes the collector's threads, which run in parallel. The sections below say how each row " +
      'is measured; PROFILES.md says why a goal is missed.',
    table(['', 'Goal', 'Measured', 'in CPU time', ''], rows),
  ].join('\n\n');
}
