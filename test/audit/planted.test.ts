/** leak-audit writes only to the requested files, whatever others planted beside them, with the right permissions. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { childrenOf } from '../../cli/capture/join';
import { readCapture } from '../../cli/capture/reader';
import { OWNER_ALONE, WholeFile, writeWholeFile } from '../../cli/files/whole-file';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { leakyCapture } from './capture-builder';
import { CLI, testFolder } from './command';

jest.mock('node:crypto', () => {
  const actual = jest.requireActual('node:crypto');
  return { ...actual, randomBytes: jest.fn(actual.randomBytes) };
});

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const modeOf = (name: string) => statSync(file(name)).mode & 0o777;

const VICTIM = 'of somebody else\n';
beforeEach(() => {
  for (const name of readdirSync(folder)) rmSync(file(name), { recursive: true });
  writeFileSync(file('victim'), VICTIM);
  writeFileSync(file('c.ltna'), leakyCapture().build());
});

/** Runs leak-audit with a known process id, with links at the names that could be derived from it. */
function planted(output: string, args: string[], umask = '022') {
  const names = [`${output}.$$.tmp`, `${folder}/.leak-audit-$$.tmp`, `${output}.tmp`, `${output}.new`];
  const script = `umask ${umask}; ${names.map((name) => `ln -s ${file('victim')} "${name}"`).join('; ')}; exec "$@"`;
  return run('/bin/sh', ['-c', script, 'sh', process.execPath, CLI, ...args], { env: ordinaryEnv() });
}

const WRITERS: [string, string[], number][] = [
  ['report --json', ['report', file('c.ltna'), '--json', file('out')], 0o644],
  ['report --html', ['report', file('c.ltna'), '--html', file('out')], 0o644],
  ['check --junit', ['check', file('c.ltna'), '--junit', file('out')], 0o644],
  ['check --write-baseline', ['check', file('c.ltna'), '--write-baseline', file('out')], 0o644],
  ['diff --json', ['diff', file('c.ltna'), file('c.ltna'), '--json', file('out')], 0o644],
  ['export --pprof', ['export', file('c.ltna'), '--pprof', file('out')], 0o644],
  ['repair', ['repair', file('c.ltna'), '-o', file('out')], 0o600],
  ['run', ['run', '-o', file('out'), '--', process.execPath, '-e', '0'], 0o600],
];

test.each(WRITERS)('%s does not follow links', async (_name, args, mode) => {
  const { code, stderr } = await planted(file('out'), args);
  expect({ code: (code ?? 9) <= 1, stderr }).toEqual({ code: true, stderr: '' });
  expect(readFileSync(file('victim'), 'utf8')).toBe(VICTIM);
  expect(lstatSync(file('out')).isFile()).toBe(true);
  expect(modeOf('out')).toBe(mode);
  const left = readdirSync(folder).filter((name) => name.endsWith('.tmp') && !lstatSync(file(name)).isSymbolicLink());
  expect(left).toEqual([]);
});

test('a capture is private whatever the umask; a report gets the mode of the umask, or keeps its mode', async () => {
  await planted(file('out'), ['repair', file('c.ltna'), '-o', file('out')], '000');
  expect(modeOf('out')).toBe(0o600);
  await planted(file('shown'), ['report', file('c.ltna'), '--json', file('shown')], '077');
  expect(modeOf('shown')).toBe(0o600);
  writeFileSync(file('kept'), '');
  chmodSync(file('kept'), 0o640);
  await planted(file('kept'), ['report', file('c.ltna'), '--json', file('kept')], '000');
  expect(modeOf('kept')).toBe(0o640);
});

test('an existing name is neither followed nor overwritten, and failures leave nothing behind', () => {
  const bytes = Buffer.alloc(12, 7);
  const name = file(`.leak-audit-${bytes.toString('hex')}.tmp`);
  const random = jest.mocked(randomBytes as (size: number) => Buffer);
  const actual = random.getMockImplementation();
  random.mockImplementation(() => bytes);
  try {
    symlinkSync(file('victim'), name);
    expect(() => writeWholeFile(file('out'), 'x')).toThrow('EEXIST');
    rmSync(name);
    writeFileSync(name, VICTIM);
    expect(() => writeWholeFile(file('out'), 'x', OWNER_ALONE)).toThrow('EEXIST');
    expect(readFileSync(name, 'utf8')).toBe(VICTIM);
    rmSync(name);
    mkdirSync(file('folder'));
    expect(() => writeWholeFile(file('folder'), 'x')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    const left = new WholeFile(file('out'));
    left.write(Buffer.from('half'));
    left.abandon();
    expect(existsSync(name)).toBe(false);
    expect(existsSync(file('out'))).toBe(false);
  } finally {
    random.mockImplementation(actual!);
  }
  expect(readFileSync(file('victim'), 'utf8')).toBe(VICTIM);
});

test('a link as the output is replaced, not followed', async () => {
  symlinkSync(file('victim'), file('out'));
  await planted(file('other'), ['export', file('c.ltna'), '--csv', file('out')]);
  expect(lstatSync(file('out')).isFile()).toBe(true);
  expect(readFileSync(file('victim'), 'utf8')).toBe(VICTIM);
});

test('children’s captures are files: a pipe or link with such a name is ignored and not waited for', () => {
  execFileSync('mkfifo', [file('c.ltna.1.child')]);
  symlinkSync(file('victim'), file('c.ltna.2.child'));
  writeFileSync(file('c.ltna.3.child'), '');
  expect(childrenOf(file('c.ltna')).map(({ pid }) => pid)).toEqual([3]);
  expect(() => readCapture(file('c.ltna.1.child'))).toThrow('expected a capture, got a pipe');
});
