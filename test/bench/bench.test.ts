/** The benchmarks run, and their tables have their rows. What the figures are is no test's business. */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..');

/** The rows of every table of the given sections: first cell to the other cells. */
function rowsOf(only: string): Map<string, string[]> {
  const args = [path.join(root, 'bench', 'run.mjs'), '--tiny', '--only', only];
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| -'));
  return new Map(
    lines.map((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      return [cells[1]!, cells.slice(2, -1)];
    }),
  );
}

test('ops: every op has a figure of every program', () => {
  const rows = rowsOf('ops');
  expect([...rows.keys()].filter((key) => key.startsWith('`'))).toEqual([
    '`add`',
    '`add_`',
    '`view`',
    '`empty`',
    '`sum`',
    '`mm` 128×128',
  ]);
  expect(rows.get('')).toEqual(['C++', 'PyTorch', 'Node, scope', 'Node, GC', 'Node, scope per op']);
  for (const [key, cells] of rows) {
    if (key !== '') for (const cell of cells) expect(cell).toMatch(/^[\d,.]+ \([\d,.]+–[\d,.]+\)$/);
  }
}, 300_000);

test('load, memory and audit: every row is there', () => {
  const rows = [...rowsOf('load,memory,audit').keys()];
  expect(rows).toEqual(expect.arrayContaining(["`require('libtorch-node')`", '`import torch`']));
  expect(rows).toEqual(expect.arrayContaining(['20 × 1 MiB `zeros`, nothing disposed', '1,000 × `add`, a scope each']));
  expect(rows).toEqual(expect.arrayContaining(['off', 'counters', 'sample', 'full']));
}, 300_000);
