/** TypeScript: tsc to dist/, the generated JavaScript and declarations beside it, and the ESM entry. */
import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { esmEntry } from './esm-entry.mjs';
import { describeAll } from './prebuilds.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

export const tsc = inRoot('node_modules', 'typescript', 'bin', 'tsc');
const sourceFolders = ['lib', 'cli', 'types', 'bench', 'examples'];

/** tsc leaves hand-written declarations, generated JavaScript and the CLI's assets where they are. */
export function copyAlong() {
  const kept = ['.d.ts', '.d.mts', '.js', '.mjs', '.cjs', '.html', '.css', '.json'];
  for (const file of filesBelow(['lib', 'types', 'cli'], kept)) cpSync(file, inRoot('dist', path.relative(root, file)));
}

/** The sources that a file in dist/ can come from. tsc leaves an output alone whose text did not change. */
const sourcesOf = (name) => [name, name.replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts')];

/** Removes what an earlier build wrote and whose source is gone. */
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

export async function ensureTypeScript() {
  const inputs = {
    files: [
      ...filesBelow(sourceFolders, ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.html', '.css', '.json']),
      ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) => inRoot(name)),
    ],
    outputs: [inRoot('dist', 'lib', 'index.js'), inRoot('dist', 'lib', 'index.mjs')],
  };
  await whenChanged('typescript', inputs, () =>
    step('TypeScript', async () => {
      await runLogged('typescript', process.execPath, [tsc, '-p', 'tsconfig.build.json', '--pretty', 'false']);
      prune(inRoot('dist'));
      copyAlong();
      await describeAll();
    }),
  );
}
