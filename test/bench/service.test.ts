/** The service's bench runs and prints its tables. Tests do not check the figures. */
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

/** Evaluates an expression with the bench's modules. */
async function evaluated(imports: string, expression: string): Promise<any> {
  const source = `import ${imports};\nconsole.log(JSON.stringify(${expression}));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', source]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const inBench = (name: string) => JSON.stringify(path.join(ROOT, 'bench', name));

test(
  'every service has a row, every goal a verdict',
  async () => {
    const args = [
      path.join(ROOT, 'bench/service/run.mjs'),
      '--seconds',
      '3',
      '--rounds',
      '3',
      '--connections',
      '4',
      '--only',
      'http.server',
    ];
    const { code, stdout, stderr } = await run(process.execPath, args, { env: ordinaryEnv(), limitMs: 300_000 });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^## Service\n\n\d{4}-\d\d-\d\d, 3 s of load on each service\.\n/);
    const rows = new Map(
      stdout
        .split('\n')
        .filter((line) => line.startsWith('| ') && !line.startsWith('| --'))
        .map((line) => line.split('|').map((cell) => cell.trim()))
        .map(([, first, ...cells]) => [first, cells.slice(0, -1)]),
    );
    for (const title of ['libtorch-node', 'Python, http.server']) {
      const [speed, p50, p99, cpu, delay, rss, others, right] = rows.get(title)!;
      for (const figure of [speed, p50, p99, cpu]) expect(figure).toMatch(/^[\d,.]+ \([\d,.]+–[\d,.]+\)$/);
      expect(delay).toMatch(title === 'libtorch-node' ? /^[\d,.]+ \(/ : /^–$/);
      expect(rss).toMatch(/^\d+ MB$/);
      expect(others).toBe('0');
      expect(Number.parseFloat(right!)).toBeGreaterThan(80);
    }
    const goals = [...rows].slice([...rows.keys()].indexOf('libtorch-node') + 2).map(([title]) => title);
    expect(goals).toEqual([
      'requests/s, as a multiple of the better Python',
      'p99, as a multiple of the better Python',
      'live bytes, slope in a minute',
      expect.stringMatching(/^requests lost by SIGTERM under load, of [\d,]+; exit status$/),
    ]);
    expect(rows.get(goals[3])).toEqual(['0; 0', '0; 0', 'met']);
  },
  limitMs(300_000),
);

test('a trend is the slope of a line, with a wide margin for scattered points', async () => {
  const given = (values: number[]) => JSON.stringify(values.map((value, at) => ({ at, value })));
  const [line, flat] = await evaluated(
    `{ trend } from ${inBench('service/trend.mjs')}`,
    `[trend(${given([5, 7, 9, 11])}), trend(${given([3, 9, 3, 9, 3, 9, 3])})]`,
  );
  expect([line.slope, line.margin]).toEqual([2, 0]);
  expect(Math.abs(flat.slope)).toBeLessThan(flat.margin);
});

test('sections of different runs are kept', async () => {
  const old = '# R\\n\\nhead\\n\\n## A\\n\\na\\n\\n## S\\n\\nold\\n\\n## B\\n\\nb\\n';
  const [replaced, added, several] = await evaluated(
    `{ withSection, withSections } from ${inBench('support/results.mjs')}`,
    `[withSection('${old}', '## S', '## S\\n\\nnew\\n'), withSection('# R\\n', '## S', '## S\\n\\nnew'), withSections('${old}', '## B\\n\\nx\\n\\n## N\\n\\ny', 'run')]`,
  );
  expect(replaced).toBe('# R\n\nhead\n\n## A\n\na\n\n## S\n\nnew\n\n## B\n\nb\n');
  expect(added).toBe('# R\n\n## S\n\nnew\n');
  expect(several).toBe('# R\n\nhead\n\n## A\n\na\n\n## S\n\nold\n\n## B\n\nrun\n\nx\n\n## N\n\nrun\n\ny\n');
});
