/** The image of the service: rules that hadolint checks as well, and files that exist. No engine runs here. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/torch';

interface Instruction {
  name: string;
  text: string;
}

/** The parser that `npm run test:bare` carries the instructions out with. It is an ES module, so a program runs it. */
const parse = (expression: string): any => {
  const from = JSON.stringify(pathToFileURL(path.join(ROOT, 'scripts/bare/dockerfile.mjs')).href);
  const program = `import * as it from ${from}; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
};

const text = fs.readFileSync(path.join(ROOT, 'examples/service/Dockerfile'), 'utf8');
const stages: Instruction[][] = parse(`it.stagesOf(${JSON.stringify(text)})`);
const [build, final] = stages as [Instruction[], Instruction[]];
const all = (stage: Instruction[], name: string): string[] =>
  stage.filter((instruction) => instruction.name === name).map(({ text }) => text);

it('has two stages on the oldest image that libtorch from npm supports', () => {
  expect(stages).toHaveLength(2);
  const images = stages.map(([from]) => from!.text.split(/\s+/)[0]);
  for (const image of images) expect(image).toMatch(/^node:\d+-bookworm-slim$/);
  expect(new Set(images).size).toBe(1);
  const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'HEALTHCHECK', 'STOPSIGNAL', 'CMD'];
  for (const { name } of stages.flat()) expect(known).toContain(name);
});

it('installs from the lock file, without install scripts and tools, before anything else is copied', () => {
  expect(all(build, 'RUN')).toEqual(['npm ci --ignore-scripts --omit=dev --no-audit --no-fund']);
  expect(all(build, 'COPY')).toEqual(['package.json package-lock.json ./']);
  expect(all(final, 'RUN')).toEqual([]);
});

it('copies from a stage that exists, into absolute folders', () => {
  const names = stages.flatMap(([from]) => / AS (\S+)$/.exec(from!.text)?.[1] ?? []);
  const sources = all(final, 'COPY').flatMap((text) => /--from=(\S+)/.exec(text)?.[1] ?? []);
  expect(sources).toEqual(names);
  for (const stage of stages) for (const folder of all(stage, 'WORKDIR')) expect(path.isAbsolute(folder)).toBe(true);
});

it('runs as another user than root, in the form that passes signals on', () => {
  expect(all(final, 'USER')).toEqual(['node']);
  const [command] = all(final, 'CMD');
  const words: string[] = parse(`it.wordsOf(${JSON.stringify(command)})`);
  expect(words[0]).toBe('node');
  const program = words[1]!.replace('node_modules/libtorch-node/', '').replace(/\.js$/, '.ts');
  expect(fs.existsSync(path.join(ROOT, program))).toBe(true);
  const options = fs.readFileSync(path.join(ROOT, 'examples/service/options.ts'), 'utf8');
  for (const option of words.filter((word) => word.startsWith('--'))) expect(options).toContain(option.slice(2));
});

it('asks the route for readiness on the port that it exposes', () => {
  const [check] = all(final, 'HEALTHCHECK');
  const [port] = all(final, 'EXPOSE');
  const words: string[] = parse(`it.wordsOf(${JSON.stringify(check)})`);
  expect(words.slice(0, 2)).toEqual(['node', '-e']);
  expect(() => new Function(words[2]!)).not.toThrow();
  const url = new URL(/http:[^']+/.exec(words[2]!)![0]);
  expect(url.port).toBe(port);
  expect(fs.readFileSync(path.join(ROOT, 'examples/service/options.ts'), 'utf8')).toContain(`port: [${port},`);
  expect(fs.readFileSync(path.join(ROOT, 'examples/service/health.ts'), 'utf8')).toContain(`'${url.pathname}'`);
});

it('the parser joins lines, leaves comments out, and refuses what it cannot read', () => {
  const small = 'FROM a AS b\n# no\nRUN one \\\n# in between\n  two\n\nFROM b\nCMD ["x", "y z"]\n';
  expect(parse(`it.stagesOf(${JSON.stringify(small)})`)).toEqual([
    [
      { name: 'FROM', text: 'a AS b' },
      { name: 'RUN', text: 'one    two' },
    ],
    [
      { name: 'FROM', text: 'b' },
      { name: 'CMD', text: '["x", "y z"]' },
    ],
  ]);
  for (const [wrong, message] of [
    ['FROM a\nrun x', 'expected an instruction, got run x'],
    ['RUN x', 'expected FROM before RUN'],
  ]) {
    expect(
      parse(
        `(() => { try { return it.stagesOf(${JSON.stringify(wrong)}); } catch (error) { return error.message; } })()`,
      ),
    ).toBe(message);
  }
});
