/** `npm run bench -- --compare`: what counts as a change, on ratios whose answer is known. */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = path.resolve(__dirname, '../..');

const module_ = pathToFileURL(path.join(ROOT, 'bench', 'support', 'baseline.mjs')).href;

/** The value of an expression that uses the module's functions. */
function evaluate(expression: string): any {
  const program = `import { compare, medianInterval } from '${module_}'; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
}

test('the interval of the median has the ranks of the sign test', () => {
  const upTo = (n: number) => `Array.from({ length: ${n} }, (_, i) => i + 1)`;
  // The 6th and 16th of 21 values, the 2nd and 9th of 10, and all of 5: tables of the binomial distribution.
  expect(evaluate(`[21, 10, 6, 5].map((n) => medianInterval(Array.from({ length: n }, (_, i) => i + 1)))`)).toEqual([
    { median: 11, low: 6, high: 16 },
    { median: 5.5, low: 2, high: 9 },
    { median: 3.5, low: 1, high: 6 },
    { median: 3, low: 1, high: 5 },
  ]);
  expect(evaluate(`medianInterval(${upTo(21)}.reverse())`)).toEqual({ median: 11, low: 6, high: 16 });
});

test('a ratio is slower or faster only if both intervals say so by more than the tolerance', () => {
  const at = (low: number, high: number) => ({ median: (low + high) / 2, low, high });
  const base = JSON.stringify({ a: at(1, 1.1), b: at(1, 1.1), c: at(1, 1.1), d: at(1, 1.1), gone: at(1, 1) });
  const now = JSON.stringify({ a: at(1.3, 1.4), b: at(1.15, 1.4), c: at(0.7, 0.8), d: at(0.9, 1.2), made: at(1, 1) });
  const verdicts = evaluate(`compare(${base}, ${now}).map(({ name, verdict }) => [name, verdict])`);
  expect(Object.fromEntries(verdicts)).toEqual({
    a: 'slower',
    b: 'equal',
    c: 'faster',
    d: 'equal',
    gone: 'gone',
    made: 'new',
  });
});
