/** Compiles TypeScript to dist/ and adds the generated JavaScript, the declarations and the ESM entry. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inRoot, root } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { StepError } from './errors.mjs';
import { esmEntry } from './esm-entry.mjs';
import { describeAll } from './prebuilds.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

/**
 * TypeScript 7's compiler, which is native: a third of the processor time of version 6, whose API other scripts use. Each of its
 * checkers checks what it needs again, so more of them use more time in total.
 */
export const tsc = [
  inRoot('node_modules', 'native-typescript', 'bin', 'tsc'),
  ...['--checkers', String(Math.ceil(os.availableParallelism() / 4))],
];
const sourceFolders = ['lib', 'cli', 'types', 'bench'];

/**
 * Compiles with what the compiler kept of the last time, and once more without it after an error: version 7.0 then reports errors
 * of the last state of a file, or of none (a class without its `Symbol.dispose`).
 * @param {string} known the file that the compiler keeps
 * @param {() => Promise<void>} compile throws StepError for errors in the sources
 */
export async function compileKnowing(known, compile) {
  if (existsSync(known)) {
    try {
      return await compile();
    } catch (error) {
      if (!(error instanceof StepError)) throw error;
      rmSync(known);
    }
  }
  await compile();
}

/** tsc does not copy hand-written declarations, generated JavaScript and the CLI's assets. */
export function copyAlong() {
  const kept = ['.d.ts', '.d.mts', '.js', '.mjs', '.cjs', '.html', '.css', '.json'];
  for (const file of filesBelow(['lib', 'types', 'cli'], kept)) cpSync(file, inRoot('dist', path.relative(root, file)));
}

/**
 * The sources that a file in dist/ can come from. tsc does not rewrite an output whose text did not change. JavaScript in
 * examples/ is not a source: placeExamples copied it there.
 */
const sourcesOf = (name) => {
  const compiled = name.replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts');
  return name.startsWith('examples') ? [compiled] : [name, compiled];
};

/** Removes outputs of an earlier build whose source no longer exists. */
function prune(dir) {
  for (const name of readdirSync(dir)) {
    const file = path.join(dir, name);
    if (statSync(file).isDirectory()) prune(file);
    else if (
      file !== esmEntry &&
      !sourcesOf(path.relative(inRoot('dist'), file)).some((source) => existsSync(inRoot(source)))
    ) {
      rmSync(file);
    }
  }
}

/**
 * Copies the programs of dist/examples beside their sources: the package has them in `examples/`, so that they run as
 * `node node_modules/libtorch-node/examples/…`. Their source maps stay in dist/.
 */
function placeExamples() {
  const built = filesBelow(['dist/examples'], ['.js']);
  const places = new Map(built.map((file) => [inRoot('examples', path.relative(inRoot('dist/examples'), file)), file]));
  for (const old of filesBelow(['examples'], ['.js'])) if (!places.has(old)) rmSync(old);
  for (const [place, file] of places) {
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, ''));
  }
}

export async function ensureTypeScript() {
  const inputs = {
    files: [
      ...filesBelow(sourceFolders, ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.html', '.css', '.json']),
      ...filesBelow(['examples'], ['.ts']),
      ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) => inRoot(name)),
    ],
    outputs: ['dist/lib/index.js', 'dist/lib/index.mjs', 'examples/regression.js'].map((name) => inRoot(name)),
  };
  await whenChanged('typescript', inputs, () =>
    step('TypeScript', async () => {
      const args = [...tsc, '-p', 'tsconfig.build.json', '--pretty', 'false'];
      await compileKnowing(inRoot('build', 'tsconfig.build.tsbuildinfo'), () =>
        runLogged('typescript', process.execPath, args),
      );
      prune(inRoot('dist'));
      copyAlong();
      placeExamples();
      await describeAll();
    }),
  );
}
