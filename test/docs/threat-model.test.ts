/** docs/threat-model.md: each line names tests, and all of them exist. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT } from '../support/torch';

const lines = fs.readFileSync(path.join(ROOT, 'docs/threat-model.md'), 'utf8').split('\n');
const rows = lines
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

/** `a.test.ts` "one", "two", `b.test.ts` "three" */
function named(cell: string): { file: string; title: string }[] {
  let file = '';
  const found: { file: string; title: string }[] = [];
  for (const [, name, title] of cell.matchAll(/`([^`]+)`|"([^"]*)"/g)) {
    if (name !== undefined) file = name;
    else found.push({ file, title: title! });
  }
  return found;
}
/** The text between the tests in a cell. */
const between = (cell: string) => cell.replace(/`[^`]+`|"[^"]*"/g, '').trim();

/** The titles in a file of tests: those of Jest as written, those of GoogleTest as Suite.Name. */
function titlesIn(text: string): Set<string> {
  const jest = [...text.matchAll(/(?:\b(?:it|test|describe)\b[^('"`]*\(|\)\()\s*(['"`])((?:\\.|(?!\1).)*)\1/g)];
  const native = [...text.matchAll(/^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)/gm)];
  return new Set([
    ...jest.map(([, , title]) => title!.replace(/\\(.)/g, '$1')),
    ...native.map(([, suite, name]) => `${suite}.${name}`),
  ]);
}
const tests = rows.flatMap((row) => named(row[3] ?? ''));

it('is one page of whole lines', () => {
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) {
    expect(row).toHaveLength(4);
    const [, wanted, stops, shown] = row as [string, string, string, string];
    expect([wanted, stops.length > 0, named(shown).length > 0]).toEqual([wanted, true, true]);
    expect([wanted, between(shown)]).toEqual([wanted, expect.stringMatching(/^[,\s]*$/)]);
  }
  expect(rows[0]![0]).not.toBe('');
});

it('every test that it names exists with that title', () => {
  const missing = tests.filter(({ file, title }) => {
    const where = path.join(ROOT, 'test', file);
    return !fs.existsSync(where) || !titlesIn(fs.readFileSync(where, 'utf8')).has(title);
  });
  expect(missing).toEqual([]);
});

it('names no test twice, and finds titles of every kind', () => {
  const keys = tests.map(({ file, title }) => `${file} ${title}`);
  expect(keys).toEqual([...new Set(keys)]);
  const text = [
    "it('one', () => {});",
    "  test.each([1, 2])('two %i', f);",
    'describe("it\'s three", f);',
    'test(\n  `four`,\n f);',
    "it.each([\n  ['a', 1],\n])('five: %s', f);",
    'TEST(Suite, Six) {',
    "// a comment that says 'seven'",
    "const other = f('eight');",
  ].join('\n');
  const titles = titlesIn(text);
  for (const title of ['one', 'two %i', "it's three", 'four', 'five: %s', 'Suite.Six']) expect(titles).toContain(title);
  for (const title of ['seven', 'eight']) expect(titles).not.toContain(title);
});
