/** The benchmarks run, and their tables have their rows. Tests do not check the figures. */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';

const root = path.resolve(__dirname, '..', '..');

type Table = Map<string, string[]>;

/** First cell of a row to its other cells; the head under ''. */
function parseTable(text: string): Table {
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| -'));
  return new Map(
    lines.map((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      return [cells[1]!, cells.slice(2, -1)];
    }),
  );
}

/** The tables of every section, in order, by its heading. */
const sections = new Map<string, Table[]>();

beforeAll(() => {
  const args = [path.join(root, 'bench', 'run.mjs'), '--tiny'];
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  for (const section of text.split(/^## /m).slice(1)) {
    sections.set(section.split('\n')[0]!, (section.match(/(?:^\|.*\n)+/gm) ?? []).map(parseTable));
  }
}, limitMs(900_000));

const rowsOf = (section: string): string[] => [...sections.get(section)![0]!.keys()].slice(1);

const programs = ['C++', 'PyTorch', 'Node, scope', 'Node, GC', 'Node, scope per op'];

test('goals come first: every row has its goal, a figure and a verdict', () => {
  expect([...sections.keys()]).toEqual([
    'Goals',
    'Ops',
    'Calls',
    'Everyday calls',
    'Guards',
    'Scopes',
    'Digits',
    'Optimizers',
    'Training',
    'Data',
    'Files',
    'Examples',
    'Load time',
    'Memory',
    'Async',
    'The audit',
    'The audit of a service',
    'Profiles',
    'Reports of large captures',
  ]);
  const [goals] = sections.get('Goals')!;
  expect(goals!.get('')).toEqual(['Goal', 'Measured', 'in CPU time', '']);
  expect(rowsOf('Goals').length).toBe(29); // two more have a goal against C++ and one against PyTorch
  for (const row of rowsOf('Goals')) {
    const [goal, measured, cpu, verdict] = goals!.get(row)!;
    expect(goal).toMatch(/^(≤|≥|<|faster than|no more than)/);
    expect(measured).toMatch(/^-?[\d,.]+(×| MB| ns)/);
    expect(cpu).toMatch(/^([\d,.]+×|–)$/);
    expect(verdict).toMatch(/^(met|\*\*missed\*\*)$/);
  }
});

test('ops: every op has a ratio and a time of every program', () => {
  const [ratios, times, cpu] = sections.get('Ops')!;
  const ops = [
    ...['`add`', '`add_`', '`view`', '`empty`', '`sum`'],
    ...['`sum([1], true)` 4×4', '100-op expression 4×4', '100-op expression of one element', '`mm` 128×128'],
  ];
  for (const table of [ratios, times, cpu]) expect([...table!.keys()]).toEqual(['', ...ops]);
  expect(times!.get('')).toEqual([...programs, 'Node, captured']);
  expect(ratios!.get('')).toEqual([
    ...['Node, scope', 'Node, GC', 'Node, scope per op', 'Node, captured', 'PyTorch'].map((name) => `${name} / C++`),
    ...['Node, scope', 'Node, GC', 'Node, scope per op', 'Node, captured'].map((name) => `${name} / PyTorch`),
  ]);
  for (const op of ops) {
    const replayed = op.startsWith('100-op'); // the others have no replay
    const expectCells = (cells: string[], form: RegExp, ofReplays: number) => {
      expect(cells.filter((cell) => cell === '–').length).toBe(replayed ? 0 : ofReplays);
      for (const cell of cells) if (cell !== '–') expect(cell).toMatch(form);
    };
    expectCells(ratios!.get(op)!, /^[\d,.]+×$/, 2);
    expectCells(times!.get(op)!, /^[\d,.]+ \([\d,.]+–[\d,.]+\)$/, 1);
  }
});

test('calls: every form of call and of input is there', () => {
  const [forms, data] = sections.get('Calls')!;
  expect([...forms!.keys()].slice(1)).toEqual([
    ...['`a.add(b)`', '`torch.add(a, b)`', '`a.add(b, { alpha: 2 })`', '`torch.ops.aten.add.Tensor(a, b)`'],
    ...['`a.sum([1], true)`', '`a.sum(1, true)`', '`a.sum({ dim: 1, keepdim: true })`'],
  ]);
  expect([...data!.keys()].slice(1)).toEqual([
    ...['`torch.tensor(float32Array)`', '`torch.fromTypedArray(float32Array)`'],
    ...['`torch.tensor(numbers)`', '`torch.tensor(rowsOf1000)`'],
  ]);
  for (const [, cells] of [...forms!].slice(1)) expect(cells[2]).toMatch(/^-?\d+$/);
});

test('guards: each condition has its time, and a verdict unless it reads elements', () => {
  const [guards] = sections.get('Guards')!;
  expect(guards!.get('')).toEqual(['looks at', 'Guard', 'Op', 'Of the op', '']);
  expect(rowsOf('Guards').length).toBe(11);
  for (const row of rowsOf('Guards')) {
    const [looks, ns, op, share, verdict] = guards!.get(row)!;
    for (const figure of [ns, op]) expect(Number(figure)).toBeGreaterThanOrEqual(0);
    expect(share).toMatch(/^[\d.]+%$/);
    expect(verdict).toMatch(looks!.startsWith('each') ? /^–$/ : /^(met|\*\*missed\*\*)$/);
  }
});

test('files: saving and loading have times and multiples', () => {
  const [files] = sections.get('Files')!;
  const titles = ['`torch.save`, both sync to the disk', '`torch.save`, PyTorch does not sync', '`torch.load`'];
  expect(rowsOf('Files')).toEqual(titles);
  for (const title of titles) {
    const [node, python, ...multiples] = files!.get(title)!;
    for (const seconds of [node, python]) expect(seconds).toMatch(/^[\d,.]+ \([\d,.]+–[\d,.]+\)$/);
    for (const multiple of multiples) expect(multiple).toMatch(/^[\d,.]+×$/);
  }
});

test('scopes: every loop is there', () => {
  const loops = ['`torch.scope(() => {})`', '`openScope` and `close`', '`add`, a scope each', '`add`, GC'];
  expect(rowsOf('Scopes')).toEqual(loops);
});

test('digits: Node and PyTorch learn the same', () => {
  const [digits] = sections.get('Digits')!;
  for (const training of ['full batch', 'batches of 64']) {
    expect(Number(digits!.get(training)!.at(-1))).toBeLessThanOrEqual(1e-4);
  }
});

test('load, memory, async and audit: every row is there', () => {
  expect(rowsOf('Async')).toEqual(['throughput, `torch.async` / synchronous', 'delay of the event loop, p99']);
  expect(rowsOf('Load time')).toEqual(["`require('libtorch-node')`", 'libtorch alone, in Node', '`import torch`']);
  expect(rowsOf('Memory')).toEqual([
    '20 × 1 MiB `zeros`, nothing disposed',
    '1,000 × `add`, nothing disposed',
    '1,000 × `add`, a scope each',
    '1,000 small ops, scopes of 100',
  ]);
  expect(rowsOf('The audit')).toEqual([
    'off',
    'counters',
    'sample',
    'sample, after 12 s',
    'sample, 512 KiB',
    'full',
    'full, 4 frames',
    'full, 1 frame',
  ]);
});

test('the audit of a service: each mode has its throughput and its delays', () => {
  const [throughput, delays] = sections.get('The audit of a service')!;
  for (const table of [throughput, delays]) {
    expect([...table!.keys()]).toEqual(['Mode', 'off', 'counters', 'sample', 'full']);
    for (const mode of ['counters', 'sample', 'full']) expect(table!.get(mode)!.join(' ')).toMatch(/[+-][\d.]+%/);
  }
});

test('reports of large captures: of many events, and of many that survive', () => {
  expect(rowsOf('Reports of large captures')).toEqual([
    '4,000 events: births, and deaths some rounds later',
    '4,000 tensors that all survive',
  ]);
});
