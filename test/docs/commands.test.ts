/** docs/leak-audit.md has a row for each command, and names only options that the command has. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { commands } from '../../cli/commands';
import { formats } from '../../cli/exporters';
import { ROOT } from '../support/torch';

const text = fs.readFileSync(path.join(ROOT, 'docs/leak-audit.md'), 'utf8');
const section = /^## Commands\n([\s\S]*?)^## /m.exec(text)![1]!;
/** The first cell of a row names one command or more: `detach PID`, `mark PID NAME`. */
const rows = [...section.matchAll(/^\| (`.*?`) \| (.*) \|$/gm)].map(([, first, second]) => ({
  names: [...first!.matchAll(/`(\w+)/g)].map(([, name]) => name!),
  options: [...second!.matchAll(/--[a-z]+(?:-[a-z]+)*/g)].map(([option]) => option),
}));

const optionsOf = (name: string) =>
  commands[name]!()(() => undefined).options.flatMap(({ long }) => (long == null ? [] : [long]));

test('each command has a row, and each row a command', () => {
  expect(rows.flatMap(({ names }) => names).sort()).toEqual(Object.keys(commands).sort());
});

test.each(rows)('$names: the options exist', ({ names, options }) => {
  expect(names.flatMap(optionsOf)).toEqual(expect.arrayContaining(options));
});

test('the main options of run exist', () => {
  const sentence = /^`run`'s main options: [\s\S]*?lists all\./m.exec(section)![0];
  const named = [...sentence.matchAll(/--[a-z]+(?:-[a-z]+)*/g)].map(([option]) => option);
  expect(named.length).toBeGreaterThan(5);
  expect([...optionsOf('run'), '--help']).toEqual(expect.arrayContaining(named));
});

test('the row of export names each format', () => {
  const { options } = rows.find(({ names }) => names.includes('export'))!;
  expect(options).toEqual(formats.map(({ name }) => `--${name}`));
});
