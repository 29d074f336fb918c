/** `npm run bench -- --compare`: what counts as a change, on ratios whose answer is known. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = path.resolve(__dirname, '../..');

const module_ = pathToFileURL(path.join(ROOT, 'bench', 'support', 'baseline.mjs')).href;

/** The value of an expression that uses the module's functions. */
function evaluate(expression: string): any {
  const names = 'compare, confirmed, medianInterval, pooled, toleranceFor';
  const program = `import { ${names} } from '${module_}'; console.log(JSON.stringify(await ${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
}

const at = (low: number, high: number) => ({ median: (low + high) / 2, low, high });

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

/** Compares with a baseline of 1 to 1.1 for each name; `runs` are the rounds of each run. */
const confirm = (...runs: Record<string, number[]>[]) => {
  const base = Object.fromEntries(Object.keys(runs[0]!).map((name) => [name, at(1, 1.1)]));
  const source = `(() => { const runs = ${JSON.stringify(runs)};
    return confirmed(${JSON.stringify(base)}, async () => runs.shift(), 0.1); })()`;
  const { compared, worse, runs: count } = evaluate(source);
  return { worse, count, verdicts: Object.fromEntries(compared.map(({ name, verdict }: any) => [name, verdict])) };
};

test('a ratio that is slower in one run is measured again, at most twice', () => {
  const [slow, equal] = [
    [1.3, 1.35, 1.4],
    [1, 1.05, 1.1],
  ];
  expect(confirm({ a: equal })).toEqual({ worse: [], count: 1, verdicts: { a: 'equal' } });
  expect(confirm({ a: slow, b: equal }, { a: slow, b: slow }, { a: equal, b: slow })).toEqual({
    worse: [],
    count: 3,
    verdicts: { a: 'equal', b: 'equal' },
  });
  expect(confirm({ a: slow }, { a: slow }, { a: slow })).toEqual({ worse: ['a'], count: 3, verdicts: { a: 'slower' } });
});

test('a ratio that a run does not have is worse at once', () => {
  const source = `confirmed(${JSON.stringify({ a: at(1, 1) })}, async () => ({}), 0.1)`;
  expect(evaluate(source)).toMatchObject({ worse: ['a'], runs: 1 });
});

test('a baseline has the interval of the rounds of all its runs', () => {
  // 21 values in three runs: the 6th and the 16th.
  const runs = [0, 1, 2].map((run) => ({ a: Array.from({ length: 7 }, (_, i) => 3 * i + run + 1) }));
  expect(evaluate(`pooled(${JSON.stringify(runs)})`)).toEqual({ a: { median: 11, low: 6, high: 16 } });
});

test('the tolerance is larger for the baseline of another processor', () => {
  const place = { processor: 'a', node: 'v20.0.0', libtorch: '1.13.0' };
  expect(
    evaluate(`[toleranceFor(${JSON.stringify(place)}, ${JSON.stringify({ ...place, node: 'v24.0.0' })}),
    toleranceFor(${JSON.stringify(place)}, ${JSON.stringify({ ...place, processor: 'b' })})]`),
  ).toEqual([0.1, 0.25]);
});

test('the committed baseline has every ratio that a run has', () => {
  const { place, ratios } = JSON.parse(readFileSync(path.join(ROOT, 'bench', 'baseline.json'), 'utf8'));
  expect(Object.keys(place)).toEqual(['processor', 'node', 'libtorch']);
  const measure = (name: string) => pathToFileURL(path.join(ROOT, 'bench', 'measure', `${name}.mjs`)).href;
  const program = `import { forms } from '${measure('calls')}'; import { captured, lifetimes, ops } from '${measure('ops')}';
    const calls = Object.entries(forms).flatMap(([raw, others]) => Object.keys(others).map((form) => form + ' / ' + raw));
    const all = Object.keys(lifetimes).flatMap((lifetime) => Object.keys(ops).map((op) => op + ', ' + lifetime + ' / cpp'));
    const replays = captured.map((op) => op + ', captured / cpp');
    console.log(JSON.stringify([...all, ...replays, ...calls]));`;
  const names = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }),
  );
  expect(Object.keys(ratios).sort()).toEqual(names.sort());
  for (const { low, median, high } of Object.values<any>(ratios)) {
    expect(low).toBeGreaterThan(0);
    expect(median).toBeGreaterThanOrEqual(low);
    expect(high).toBeGreaterThanOrEqual(median);
  }
});
