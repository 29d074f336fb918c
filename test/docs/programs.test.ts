/** The complete programs of README and the guides, those that import the library by its name, run as they are printed. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

/** Inside the package, so that it finds itself by name. */
const folder = path.join(ROOT, 'build', 'docs-programs');
beforeAll(() => fs.mkdirSync(folder, { recursive: true }));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const BLOCK = /^```(js|ts)\n(import torch from 'libtorch-node';\n[\s\S]*?)^```$/gm;

const documents = [
  'README.md',
  ...fs
    .readdirSync(path.join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const programs = documents.flatMap((file) =>
  [...fs.readFileSync(path.join(ROOT, file), 'utf8').matchAll(BLOCK)].map(([, kind, text], i) => ({
    name: `${file}, program ${i + 1}`,
    file: path.join(folder, `${file.replace(/\W/g, '-')}-${i}.m${kind}`),
    text: text!,
  })),
);

/**
 * Servers listen on a free port. A program that makes its model in Python gets Debian's, which has PyTorch. Without the name of the
 * interface some releases warn that they do not know the host's name.
 */
const environment = (text: string): NodeJS.ProcessEnv =>
  text.includes('process.env.PYTHON')
    ? { ...ordinaryEnv(), PYTHON: '/usr/bin/python3' }
    : { ...process.env, PORT: '0', GLOO_SOCKET_IFNAME: 'lo' };

/** Runs until the end; a server is asked to end once it listens. */
function outcome(
  file: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
    if (/^listening on port \d+$/m.test(stdout)) child.kill('SIGTERM');
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

/**
 * The lines that a program says it prints, in comments after console.log, up to a colon and a remark. A comment that begins with
 * another word ("close to …") is not such a line.
 */
const announced = (text: string): string[] =>
  [...text.matchAll(/console\.log\(.*\);? *\/\/ ((?:ERR_|true\b|false\b|float|[\d[-]).*)$/gm)].map(([, line]) =>
    line!.replace(/: .*/, ''),
  );

test.each(programs)(
  '$name',
  async ({ name, file, text }) => {
    const source = file.endsWith('.mts')
      ? require('typescript').transpile(text, { module: 'esnext', target: 'es2022' })
      : text;
    const runnable = file.replace(/\.mts$/, '.mjs');
    fs.writeFileSync(runnable, source);
    const { code, stdout, stderr } = await outcome(runnable, environment(text));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toBe('');
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(announced(text)));
    if (name.startsWith('docs/capture.md'))
      expect(stdout).toMatch(/^recorded 1 time, replayed 3 times; fallbacks: 0$/m);
  },
  limitMs(60_000),
);

test('there is a program to paste for each subject of the first screen', () => {
  const having = new Set(programs.map(({ name }) => name.replace(/,.*/, '')));
  for (const file of ['README.md', 'docs/serving.md', 'docs/training.md', 'docs/lifetimes.md']) {
    expect([file, having.has(file)]).toEqual([file, true]);
  }
});

/** Specifications, records, and guides to commands. */
const withoutProgram = new Set(
  [
    'benchmarks',
    'capture-format',
    'comparison',
    'releasing',
    'matrix',
    'threat-model',
    'verdicts',
    'runtimes',
    'installing',
    'libtorch-package',
    'leak-audit',
    'leak-hunt',
  ].map((name) => `docs/${name}.md`),
);

test.each(documents.slice(1))('%s opens with what it is for, and a guide with a short program', (file) => {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  const opening = text.split(/^## /m)[0]!;
  expect(opening).toMatch(/^# .+\n\n(This (guide|page) |The attackers )/);
  if (withoutProgram.has(file)) return;
  const [first] = opening.matchAll(/^```\w*\n[\s\S]*?^```$/gm);
  const [program] = opening.matchAll(BLOCK);
  expect(program?.[0]).toBe(first?.[0] ?? 'a program');
  expect(program![2]!.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
});
