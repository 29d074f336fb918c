/** `leak-audit completion`: the scripts in the shells they are for. */
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const script = (shell: string) => path.join(folder, `completion.${shell}`);
const words = (outcome: Outcome) => {
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  return outcome.stdout.split('\n').filter(Boolean);
};

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await leakAudit(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(script(shell), stdout);
  }
  writeFileSync(path.join(folder, 'my capture.ltna'), '');
});

test('completion offers every command of --help', async () => {
  const { stdout } = await leakAudit(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1]!).filter((name) => name !== 'help');
  expect(commands).toEqual(expect.arrayContaining(['run', 'report', 'check', 'diff', 'export', 'completion']));
  expect(await inBash('')).toEqual([...commands, '--help', '--version']);
  expect((await inFish('leak-audit ')).sort()).toEqual([...commands].sort());
});

/** The completions of bash for the last of the words after `leak-audit`. */
async function inBash(...typed: string[]): Promise<string[]> {
  const lines = `
    source "$1"; cd "$2"; shift 2
    COMP_WORDS=(leak-audit "$@") COMP_CWORD=$#
    _leak_audit 2>&1
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', lines, 'bash', script('bash'), folder, ...typed];
  return words(await run('bash', args, { env: ordinaryEnv() }));
}

test('bash', async () => {
  expect(await inBash('exp')).toEqual(['export']);
  expect(await inBash('export', 'my capture.ltna', '--sp')).toEqual(['--speedscope']);
  expect(await inBash('export', 'x', '--value', '')).toEqual(['live', 'allocated', 'growth']);
  expect(await inBash('report', 'my')).toEqual(['my capture.ltna']);
  expect(await inBash('report', 'x', '--html', 'my')).toEqual(['my capture.ltna']);
  expect(await inBash('report', 'x', '--min-age', '')).toEqual([]);
  expect(await inBash('completion', '')).toEqual(['bash', 'zsh', 'fish']);
});

/** The completions of fish for a line, without the files that it always offers. */
async function inFish(line: string): Promise<string[]> {
  const args = ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script('fish'), line];
  return words(await run('fish', args, { env: { ...ordinaryEnv(), HOME: folder, XDG_DATA_HOME: folder } })).map(
    (offer) => offer.split('\t')[0]!,
  );
}

test('fish', async () => {
  expect(await inFish('leak-audit dif')).toEqual(['diff']);
  expect(await inFish('leak-audit diff a b --norm')).toEqual(['--normalize']);
  expect(await inFish('leak-audit run --mode s')).toEqual(['sample']);
  expect(await inFish('leak-audit completion ')).toEqual(['bash', 'fish', 'zsh']);
});

test('zsh: the script gives the completion system the expected values', async () => {
  const lines = `
    autoload -U compinit; compinit -u -D
    source "$1"; shift
    print -r -- "for $_comps[leak-audit]"
    _describe() { print -rl -- "\${(@P)2}" }
    _arguments() { print -rl -- "$@" }
    words=(leak-audit "$@"); CURRENT=$#words
    _leak_audit`;
  const zsh = async (...typed: string[]) =>
    words(await run('zsh', ['-f', '-c', lines, 'zsh', script('zsh'), ...typed], { env: ordinaryEnv() }));
  expect(await zsh('')).toEqual(
    expect.arrayContaining(['for _leak_audit', 'export:Converts a capture to the formats of other tools.']),
  );
  const options = await zsh('export', 'x', '--v');
  expect(options).toContain('*:file:_files');
  expect(options.find((option) => option.startsWith('--value'))).toMatch(
    /^--value\[.*\]:value:\(live allocated growth\)$/,
  );
  expect(options.find((option) => option.startsWith('--csv'))).toMatch(/\]:file:_files$/);
});

test('for another shell the error lists the supported ones', async () => {
  const { code, stderr } = await leakAudit(['completion', 'powershell']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/Allowed choices are bash, zsh, fish/);
});
