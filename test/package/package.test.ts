/** The package as packed by npm, installed into an empty project without install scripts, and used in every way. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { ROOT, torch } from '../support/torch';
import { command, files, install, installed, project, write } from './installed';

jest.setTimeout(limitMs(240_000)); // TypeScript reads four megabytes of declarations, without a cache

let tarball = '';

async function node(args: string[]): Promise<string> {
  const { code, signal, stdout, stderr } = await command(process.execPath, args);
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  return stdout.trim();
}

beforeAll(async () => {
  tarball = await install();
}, 240_000);

/** Programs that have nothing of Node and the DOM: a compiler must not need more of them for the package's declarations. */
const CONSOLE = 'declare const console: { log(...values: unknown[]): void };';

const MAIN = `${CONSOLE}
  import torch, { type Tensor, scope } from 'libtorch-node';
  const x: Tensor = torch.ones([2, 3]);
  const shape: number[] = x.shape;
  const total: torch.Tensor = scope(() => x.sum());
  // @ts-expect-error: a string is not a tensor
  const wrong = () => torch.matmul(x, 'x');
  // @ts-expect-error: an unknown op
  torch.noSuchOp;
  console.log(total.item(), shape.length, typeof wrong);`;

const ENTRIES = `${CONSOLE}
  import torch from 'libtorch-node';
  import { exportToOpenTelemetry, exportToPrometheus, type Exported } from 'libtorch-node/metrics';
  import { handler, type PprofHandler } from 'libtorch-node/pprof';
  import { assertNoTensorLeaks, measureTensorLeaks, type TensorLeaks } from 'libtorch-node/testing';
  const leaks: TensorLeaks = await measureTensorLeaks(() => torch.ones([2]), { iterations: 2 });
  await assertNoTensorLeaks(async () => torch.ones([2]), { iterations: 1, warmup: 0 });
  const missing = (start: () => Exported): unknown => {
    try {
      return start();
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const profiles: PprofHandler = handler({ sampleBytes: 0 });
  profiles.stop();
  // @ts-expect-error: an unknown option
  const wrong = () => measureTensorLeaks(() => {}, { rounds: 1 });
  console.log(leaks.leaks, missing(exportToPrometheus), missing(exportToOpenTelemetry), typeof wrong);`;

/** For compilers that ignore "exports", as CommonJS, which has no await outside of functions. */
const SUBPATHS = `import { exportToPrometheus } from 'libtorch-node/metrics';
  import { handler } from 'libtorch-node/pprof';
  import { assertNoTensorLeaks } from 'libtorch-node/testing';
  export const calls = [exportToPrometheus, () => handler({ sampleBytes: 0 }), () => assertNoTensorLeaks(() => 1)];
  // @ts-expect-error: an unknown option
  export const wrong = () => assertNoTensorLeaks(() => 1, { rounds: 1 });`;

/** The programs of each moduleResolution. A compilation takes seconds, because TypeScript reads all declarations. */
const SOURCES: Record<string, Record<string, string>> = {
  node16: { 'main.mts': MAIN, 'main.cts': MAIN, 'entries.mts': ENTRIES },
  bundler: { 'main.mts': MAIN },
  node10: { 'main.ts': MAIN, 'entries.ts': SUBPATHS },
};
const compiled = new Map<string, Promise<void>>();

/** The compilers that know a moduleResolution. TypeScript 5 takes node10 unless told otherwise, and 7 no longer has it. */
const compilersOf = (resolution: string) =>
  resolution === 'node10' ? ['typescript'] : ['native-typescript', 'typescript'];

/** The compilers accept the programs of a moduleResolution, which they compile once. */
function compiles(resolution: string, module: string): Promise<void> {
  const begun = compiled.get(resolution) ?? compileAll(resolution, module);
  compiled.set(resolution, begun);
  return begun;
}

async function compileAll(resolution: string, module: string): Promise<void> {
  const sources = SOURCES[resolution]!;
  for (const [name, text] of Object.entries(sources)) write(`${resolution}/${name}`, text);
  write(
    `${resolution}/tsconfig.json`,
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, target: 'es2022', module, moduleResolution: resolution, skipLibCheck: false, types: [] },
        ...{ lib: ['es2022'], esModuleInterop: true, outDir: 'out' },
        ...(resolution === 'node10' && { ignoreDeprecations: '6.0' }),
      },
      files: Object.keys(sources),
    }),
  );
  for (const compiler of compilersOf(resolution)) {
    const tsc = path.join(ROOT, 'node_modules', compiler, 'bin/tsc');
    const { code, stdout } = await command(process.execPath, [tsc, '-p', resolution]);
    expect({ compiler, code, stdout }).toEqual({ compiler, code: 0, stdout: '' });
  }
}

describe('contents', () => {
  it('is small and complete, without extra files', () => {
    expect(fs.statSync(tarball).size).toBeLessThan(25e6);
    const names = files();
    expect(names).toEqual(
      expect.arrayContaining([
        ...['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'sbom.cdx.json'],
        ...['dist/lib/index.mjs', 'dist/types/index.d.mts'],
      ]),
    );
    const folders = [...new Set(names.map((name) => name.split('/').slice(0, 2).join('/')))];
    // From bench/ only the targets of README.md's links; shipped.test.ts covers examples/.
    expect(
      folders.filter((name) => /^(test|bench|build|node_modules|lib)\b|native\/generated|ledger/.test(name)).sort(),
    ).toEqual(['bench/PROFILES.md', 'bench/RESULTS.md', 'bench/training-results.md']);
    expect(names.filter((name) => /binding\.gyp$|\.o$|^dist\/(lib\/generated|examples)\//.test(name))).toEqual([]);
  });

  it('does not contain the build folder or a download location', () => {
    const traces = files().filter((name) => fs.readFileSync(path.join(installed, name)).includes(ROOT));
    expect(traces).toEqual([]);
    const code = files().filter((name) => /\.(m?js|node)$/.test(name));
    const fetching = code.filter((name) =>
      /\bfetch\(|require\(['"]node:https?['"]\)|from ['"]node:https?['"]/.test(
        fs.readFileSync(path.join(installed, name), 'latin1'),
      ),
    );
    expect(fetching).toEqual([]);
  });

  it('has the same version everywhere, and does not have an install script', () => {
    const manifest = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8'));
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts[name]).toBeUndefined();
    expect(manifest.gypfile).toBe(false);
    for (const name of files().filter((file) => file.endsWith('binding.json'))) {
      expect(JSON.parse(fs.readFileSync(path.join(installed, name), 'utf8')).package).toBe(manifest.version);
    }
  });
});

describe('use', () => {
  it('from CommonJS, with the packaged addon', async () => {
    write(
      'a.cjs',
      "const torch = require('libtorch-node'); console.log(torch.ones([2, 3]).sum().item(), Object.keys(require.cache).filter((f) => f.endsWith('.node')).join());",
    );
    const [sum, addon] = (await node(['a.cjs'])).split(' ');
    expect(sum).toBe('6');
    expect(path.relative(installed, fs.realpathSync(addon!))).toMatch(
      /^prebuilds\/\w+-\w+\/libtorch-[\d.]+\/libtorch_node\.node$/,
    );
  });

  it('from ESM: the default export and the named ones', async () => {
    write(
      'a.mjs',
      "import torch, * as all from 'libtorch-node'; import { add, Tensor, linalg } from 'libtorch-node';\n" +
        'console.log(JSON.stringify([add === torch.add, torch.ones([2]) instanceof Tensor, typeof linalg.inv,' +
        ' Object.keys(torch).filter((name) => all[name] !== torch[name])]));',
    );
    expect(JSON.parse(await node(['a.mjs']))).toEqual([true, true, 'function', []]);
  });

  it.each([
    ['node16', 'node16', '.mts'],
    ['node16', 'node16', '.cts'],
    ['bundler', 'esnext', '.mts'],
    ['node10', 'commonjs', '.ts'],
  ])('from TypeScript with moduleResolution %s, module %s, in %s', async (resolution, module, ending) => {
    await compiles(resolution, module);
    expect(await node([`${resolution}/out/main${ending.replace('t', 'j')}`])).toBe('6 2 function');
  });

  it('from compilers older than TypeScript 5.7, whose typed arrays have no type parameter', () => {
    const declarations = files().filter((name) => /^dist\/(lib|types)\/.*\.d\.m?ts$/.test(name));
    const newer = declarations.filter((name) =>
      /\b(?:[A-Z]\w*\d+(?:Clamped)?Array|Buffer|DataView)<(?:Shared)?ArrayBuffer/.test(
        fs.readFileSync(path.join(installed, name), 'utf8'),
      ),
    );
    expect(newer).toEqual([]);
  });

  it('by a compiler that checks its declarations, without the mark that they are checked', async () => {
    write('checked/main.ts', "import * as torch from 'libtorch-node';\nconsole.log(torch.ones([2]).dtype);");
    const stricter = { noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
    const usual = { strict: true, target: 'es2022', module: 'node16', skipLibCheck: false, types: [], noEmit: true };
    const options = { ...usual, ...stricter };
    const lib = ['es2022', 'esnext.disposable', 'dom'];
    write('checked/tsconfig.json', JSON.stringify({ compilerOptions: { ...options, lib }, files: ['main.ts'] }));
    const declarations = files().filter((name) => /^dist\/(lib|types)\/.*\.d\.m?ts$/.test(name));
    const marked = new Map(declarations.map((name) => [name, fs.readFileSync(path.join(installed, name), 'utf8')]));
    try {
      for (const [name, text] of marked) {
        expect(text).toMatch(/^\/\/ @ts-nocheck/);
        fs.writeFileSync(path.join(installed, name), text.slice(text.indexOf('\n')));
      }
      const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
      const { code, stdout } = await command(process.execPath, [tsc, '-p', 'checked']);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    } finally {
      for (const [name, text] of marked) fs.writeFileSync(path.join(installed, name), text);
    }
    expect(marked.size).toBeGreaterThan(20);
  });

  it('from Jest, with the matcher', async () => {
    write(
      'leaks.test.cjs',
      "const torch = require('libtorch-node'); require('libtorch-node/jest');\nit('leaks nothing', () => expect(() => torch.scope(() => { torch.ones([2]); })).not.toLeakTensors());\nit('leaks', async () => { const held = []; await expect(() => held.push(torch.ones([2]))).toLeakTensors(); });",
    );
    const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
    const { code, stderr } = await command(process.execPath, [
      jest,
      '--rootDir',
      project,
      '--testMatch',
      '**/*.test.cjs',
      '--testTimeout=120000',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('2 passed, 2 total') });
  });

  it('its entries for tests, metrics and profiles, without their optional packages', async () => {
    await compiles('node16', 'node16');
    expect(await node(['node16/out/entries.mjs'])).toBe(
      'false ERR_TORCH_MISSING_PACKAGE ERR_TORCH_MISSING_PACKAGE function',
    );
    expect(fs.existsSync(path.join(project, 'node_modules/prom-client'))).toBe(false);
  });

  it('from a worker thread, with a tensor of the main thread', async () => {
    write(
      'worker.cjs',
      `const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
       const torch = require('libtorch-node');
       if (isMainThread) new Worker(__filename, { workerData: torch.arange(4).share() }).on('message', (sum) => console.log(sum));
       else parentPort.postMessage(Number(torch.fromShared(workerData).sum().item()));`,
    );
    expect(await node(['worker.cjs'])).toBe('6');
  });

  it('through its programs', async () => {
    write(
      'leak.cjs',
      "const torch = require('libtorch-node');\nconst held = [];\nlet n = 0;\nconst timer = setInterval(() => { held.push(torch.ones([1000])); if (++n === 60) clearInterval(timer); }, 10);",
    );
    const bin = (name: string) => path.join(project, 'node_modules/.bin', name);
    const json = path.join(project, 'report.json');
    const audit = await command(bin('leak-audit'), [
      'run',
      '--quiet',
      '--json',
      json,
      '--',
      process.execPath,
      'leak.cjs',
    ]);
    expect({ code: audit.code, stderr: audit.stderr }).toEqual({ code: 0, stderr: '' });
    const { sites } = JSON.parse(fs.readFileSync(json, 'utf8'));
    expect(sites[0]).toMatchObject({ file: expect.stringMatching(/leak\.cjs$/), line: 4, allocatedTensors: 60 });
    const doctor = await command(bin('libtorch-node'), ['doctor', '--json']);
    const report = JSON.parse(doctor.stdout);
    expect(report.checks.find((check: { name: string }) => check.name === 'addon')).toMatchObject({
      status: 'ok',
      details: expect.arrayContaining(['chosen: included in the package for this libtorch']),
    });
    expect(report.findings.probe.library.libtorch).toBe(torch.libtorchVersion);
  });
});

describe('metadata', () => {
  it('publint finds nothing', async () => {
    const script = `import { publint } from 'publint';
      const { messages } = await publint({ pkgDir: ${JSON.stringify(installed)}, strict: true, pack: false });
      console.log(JSON.stringify(messages));`;
    const { code, stdout, stderr } = await command(process.execPath, ['--input-type=module', '-e', script], ROOT);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual([]);
  });

  it('are the types wrong? No', async () => {
    const script = `import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
      import { readFileSync } from 'node:fs';
      const analysis = await checkPackage(createPackageFromTarballData(readFileSync(${JSON.stringify(tarball)})));
      console.log(JSON.stringify(analysis.problems));`;
    const { code, stdout, stderr } = await command(process.execPath, ['--input-type=module', '-e', script], ROOT);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // For compilers that ignore "exports" (node10) "typesVersions" names the types; Node itself reads "exports".
    expect(JSON.parse(stdout)).toEqual([]);
  });

  it('npm publish --dry-run succeeds without warnings', async () => {
    const { code, stderr } = await command('npm', ['publish', '--dry-run', tarball], project);
    expect(code).toBe(0);
    const warnings = stderr
      .split('\n')
      .filter((line) => /npm (warn|error)/.test(line) && !/user config|logged in/.test(line));
    expect(warnings).toEqual([]);
  });
});
