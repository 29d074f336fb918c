/** The benchmarks run, and their tables have their rows. What the figures are is no test's business. */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..');

type Table = Map<string, string[]>;

/** The tables of the given sections, in order: first cell of a row to its other cells; the head under ''. */
function tablesOf(only: string): Table[] {
  const args = [path.join(root, 'bench', 'run.mjs'), '--tiny', '--only', only];
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
  return tables.map((table) => {
    const lines = table.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| -'));
    return new Map(
      lines.map((line) => {
        const cells = line.split('|').map((cell) => cell.trim());
        return [cells[1]!, cells.slice(2, -1)];
      }),
    );
  });
}

const programs = ['C++', 'PyTorch', 'Node, scope', 'Node, GC', 'Node, scope per op'];

test('ops: every op has a ratio and a time of every program', () => {
  const [ratios, times, cpu] = tablesOf('ops');
  const ops = [
    '`add`',
    '`add_`',
    '`view`',
    '`empty`',
    '`sum`',
    '`sum([1], true)` 4×4',
    '100-op expression 4×4',
    '`mm` 128×128',
  ];
  for (const table of [ratios, times, cpu]) expect([...table!.keys()]).toEqual(['', ...ops]);
  expect(times!.get('')).toEqual(programs);
  expect(ratios!.get('')).toEqual([
    ...['Node, scope', 'Node, GC', 'Node, scope per op', 'PyTorch'].map((name) => `${name} / C++`),
    ...['Node, scope', 'Node, GC', 'Node, scope per op'].map((name) => `${name} / PyTorch`),
  ]);
  for (const op of ops) {
    for (const cell of ratios!.get(op)!) expect(cell).toMatch(/^[\d,.]+×$/);
    for (const cell of times!.get(op)!) expect(cell).toMatch(/^[\d,.]+ \([\d,.]+–[\d,.]+\)$/);
  }
}, 300_000);

test('goals: every row has its goal, a figure and a verdict', () => {
  const [goals] = tablesOf('goals');
  expect(goals!.get('')).toEqual(['Goal', 'Measured', 'in CPU time', '']);
  const rows = [...goals!.entries()].filter(([title]) => title !== '');
  expect(rows.length).toBe(16); // two have a goal against C++ and one against PyTorch
  for (const [, [goal, measured, cpu, verdict]] of rows) {
    expect(goal).toMatch(/^(≤|<|faster than|no more than)/);
    expect(measured).toMatch(/^-?[\d,.]+(×| MB)/);
    expect(cpu).toMatch(/^([\d,.]+×|–)$/);
    expect(verdict).toMatch(/^(met|\*\*missed\*\*)$/);
  }
}, 300_000);

test('scopes and digits: every row is there, and both programs of the digits learn the same', () => {
  const [scopes, digits] = tablesOf('scopes,digits');
  expect([...scopes!.keys()].slice(1)).toEqual([
    '`torch.scope(() => {})`',
    '`openScope` and `close`',
    '`add`, a scope each',
    '`add`, GC',
  ]);
  for (const training of ['full batch', 'batches of 64']) {
    expect(Number(digits!.get(training)!.at(-1))).toBeLessThanOrEqual(1e-4);
  }
}, 300_000);

test('load, memory and audit: every row is there', () => {
  const rows = tablesOf('load,memory,audit').flatMap((table) => [...table.keys()]);
  expect(rows).toEqual(expect.arrayContaining(["`require('libtorch-node')`", '`import torch`']));
  expect(rows).toEqual(expect.arrayContaining(['20 × 1 MiB `zeros`, nothing disposed', '1,000 × `add`, a scope each']));
  expect(rows).toEqual(expect.arrayContaining(['off', 'counters', 'sample', 'full']));
}, 300_000);
