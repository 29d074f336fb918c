/** The image of the service: rules that hadolint checks as well, and files that exist. No engine runs here. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT } from '../support/torch';

const file = path.join(ROOT, 'examples/service/Dockerfile');

interface Instruction {
  name: string;
  text: string;
}

/** The instructions of each stage; comments are left out, and lines that end in a backslash are joined. */
function stagesOf(text: string): Instruction[][] {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line)!;
    if (name === 'FROM') stages.push([]);
    stages.at(-1)!.push({ name: name!, text: rest!.trim() });
  }
  return stages;
}

const stages = stagesOf(fs.readFileSync(file, 'utf8'));
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
  const words = JSON.parse(command!) as string[];
  expect(words[0]).toBe('node');
  const program = words[1]!.replace('node_modules/libtorch-node/', '').replace(/\.js$/, '.ts');
  expect(fs.existsSync(path.join(ROOT, program))).toBe(true);
  const options = fs.readFileSync(path.join(ROOT, 'examples/service/options.ts'), 'utf8');
  for (const option of words.filter((word) => word.startsWith('--'))) expect(options).toContain(option.slice(2));
});

it('asks the route for readiness on the port that it exposes', () => {
  const [check] = all(final, 'HEALTHCHECK');
  const [port] = all(final, 'EXPOSE');
  const words = JSON.parse(check!.slice(check!.indexOf('['))) as string[];
  expect(words.slice(0, 2)).toEqual(['node', '-e']);
  expect(() => new Function(words[2]!)).not.toThrow();
  const url = new URL(/http:[^']+/.exec(words[2]!)![0]);
  expect(url.port).toBe(port);
  expect(fs.readFileSync(path.join(ROOT, 'examples/service/options.ts'), 'utf8')).toContain(`port: [${port},`);
  expect(fs.readFileSync(path.join(ROOT, 'examples/service/health.ts'), 'utf8')).toContain(`'${url.pathname}'`);
});
