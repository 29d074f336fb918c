/** The cost of the declarations in the compiler: importing the package, and checking a program over all families of ops. */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../../scripts/paths.mjs';
import { StepError } from '../../scripts/steps/errors.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { familiesProgram } from '../support/families.mjs';
import { table } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

const programs = {
  empty: 'export {};\n',
  import: "import torch from 'libtorch-node';\nexport const shape = torch.zeros([2, 3]).shape;\n",
  families: familiesProgram(1000),
};

/** TypeScript's compilers: that of 6, in JavaScript, and the native one of 7. */
const compilers = ['typescript', 'native-typescript'].map((name) => ({
  tsc: inRoot('node_modules', name, 'bin', 'tsc'),
  title: `TypeScript ${JSON.parse(readFileSync(inRoot('node_modules', name, 'package.json'), 'utf8')).version}`,
}));

const settings = {
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable'],
  module: 'node16',
  moduleResolution: 'node16',
};

/** Makes a project with the programs and the package as npm installs it. */
function writeProject(dir) {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(path.join(dir, 'node_modules'), { recursive: true });
  symlinkSync(root, path.join(dir, 'node_modules', 'libtorch-node'), 'dir');
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(dir, `${name}.ts`), text);
    for (const skipLibCheck of [true, false]) {
      const compilerOptions = { ...settings, strict: true, noEmit: true, types: [], skipLibCheck };
      writeFileSync(
        path.join(dir, `${name}-${skipLibCheck}.json`),
        JSON.stringify({ compilerOptions, files: [`${name}.ts`] }),
      );
    }
  }
}

/** The generated declarations that the compiler reads with the package, and their names in the table. */
const parts = {
  functions: '`torch`, its namespaces and `torch.async`',
  methods: 'methods of `Tensor`',
  ops: '`torch.ops`',
};

/** Projects with a package that lacks the members of one part: the time that the compiler saves is the part's cost. */
function writeWithout(dir) {
  rmSync(dir, { recursive: true, force: true });
  for (const part of ['none', ...Object.keys(parts)]) {
    const place = path.join(dir, part, 'node_modules', 'libtorch-node');
    const declarations = (file) => !/\.(js|mjs|map)$/.test(file);
    cpSync(inRoot('package.json'), path.join(place, 'package.json'));
    for (const folder of ['types', 'lib'])
      cpSync(inRoot('dist', folder), path.join(place, 'dist', folder), { recursive: true, filter: declarations });
    if (part !== 'none') {
      const file = path.join(place, 'dist', 'types', 'generated', `${part}.d.ts`);
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(/^((?:export )?interface \w+[^\n]*\{)$[\s\S]*?^\}/gm, '$1}'),
      );
    }
    // Outside the checkout, because inside it the package's name resolves to the checkout.
    writeFileSync(path.join(dir, part, 'package.json'), '{ "name": "project", "private": true }');
    writeFileSync(
      path.join(dir, part, 'main.ts'),
      "import torch from 'libtorch-node';\nexport type All = typeof torch;\n",
    );
    const compilerOptions = { ...settings, strict: true, noEmit: true, types: [], skipLibCheck: true };
    writeFileSync(path.join(dir, part, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  }
}

/** CPU seconds for each part, measured once per round. */
async function measureParts(rounds) {
  const dir = inRoot('build', 'bench', 'type-parts');
  writeWithout(dir);
  const { tsc } = compilers[0];
  const taken = {};
  for (let round = 0; round < rounds; round++) {
    for (const part of ['none', ...Object.keys(parts)]) {
      const command = [process.execPath, tsc, '-p', path.join(dir, part)];
      const result = await jsonOf(['python3', inRoot('bench', 'python', 'timed.py'), ...command]);
      if (result.status !== 0)
        throw new StepError(`without ${part}: the compiler found errors (status ${result.status})`);
      taken[part] ??= [];
      taken[part].push(result.cpuSeconds);
    }
  }
  rmSync(dir, { recursive: true });
  return taken;
}

/** Wall and CPU seconds, by compiler, program and setting, measured once per round. */
async function measure(rounds) {
  const dir = inRoot('build', 'bench', 'types');
  writeProject(dir);
  const all = compilers.map(() => ({}));
  for (let round = 0; round < rounds; round++) {
    for (const [i, { tsc, title }] of compilers.entries()) {
      for (const key of Object.keys(programs).flatMap((name) => [`${name}-true`, `${name}-false`])) {
        const command = [process.execPath, tsc, '-p', path.join(dir, `${key}.json`)];
        const result = await jsonOf(['python3', inRoot('bench', 'python', 'timed.py'), ...command]);
        if (result.status !== 0) throw new StepError(`${key}: ${title} found errors (status ${result.status})`);
        all[i][key] ??= { wall: [], cpu: [] };
        all[i][key].wall.push(result.wallSeconds);
        all[i][key].cpu.push(result.cpuSeconds);
      }
    }
  }
  return all;
}

const seconds = (value) => value.toFixed(2);
const own = (taken, name, skip) => {
  const of = (clock) =>
    median(taken[`${name}-${skip}`][clock].map((value, round) => value - taken[`empty-${skip}`][clock][round]));
  return `${seconds(of('wall'))} (CPU ${seconds(of('cpu'))})`;
};
const whole = (taken, name, skip) => {
  const { wall, cpu } = taken[`${name}-${skip}`];
  return `${seconds(median(wall))} (CPU ${seconds(median(cpu))})`;
};

/** @param {import('../plan.mjs').Plan} plan */
export async function typesSection({ compiles }) {
  const all = await step('types', () => measure(compiles));
  const lines = programs.families.split('\n').length.toLocaleString('en-US');
  const row = (title, cell, name) => [
    title,
    ...all.flatMap((taken) => [cell(taken, name, true), cell(taken, name, false)]),
  ];
  const without = await step('types: parts', () => measureParts(compiles));
  const saved = (part) => median(without[part].map((value, round) => without.none[round] - value));
  return [
    '## Types',
    `Wall and CPU seconds of \`tsc\`, medians of ${compiles} rounds. The program of ${lines} lines is from ` +
      'bench/support/families.mjs: every family of ops, with different sizes in each block. Goals: importing at most ' +
      '0.5 s, the program at most 5 s.',
    table(
      ['', ...compilers.flatMap(({ title }) => [`${title}, \`skipLibCheck\``, 'without'])],
      [
        row('an empty program', whole, 'empty'),
        row('importing the package, on top of it', own, 'import'),
        row('the program over all families, whole', whole, 'families'),
      ],
    ),
    'The share of each part of the declarations in the import, in CPU seconds: the time that ' +
      `${compilers[0].title} saves without it.`,
    table(
      ['', 'with `skipLibCheck`'],
      Object.entries(parts).map(([part, title]) => [title, saved(part).toFixed(2)]),
    ),
    noise(
      all.flatMap((taken, i) =>
        Object.entries(taken).map(([name, { wall }]) => [`${compilers[i].title} ${name}`, summarise(wall)]),
      ),
    ),
  ].join('\n\n');
}
