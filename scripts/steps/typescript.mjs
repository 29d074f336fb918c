/** TypeScript: tsc to dist/, the generated JavaScript and declarations beside it, and the ESM entry. */
import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { writeEsmEntry } from './esm-entry.mjs';
import { step } from './progress.mjs';
import { filesBelow, whenChanged } from './stamps.mjs';

export const tsc = inRoot('node_modules', 'typescript', 'bin', 'tsc');
const sourceFolders = ['lib', 'cli', 'types', 'bench', 'examples'];

/** tsc leaves hand-written declarations, generated JavaScript and the CLI's assets where they are. */
export function copyAlong() {
  const kept = ['.d.ts', '.js', '.mjs', '.cjs', '.html', '.css', '.json'];
  for (const file of filesBelow(['lib', 'types', 'cli'], kept)) cpSync(file, inRoot('dist', path.relative(root, file)));
}

/** Removes what an earlier build wrote and this one did not: its source is gone. */
function prune(dir, since) {
  for (const name of readdirSync(dir)) {
    const file = path.join(dir, name);
    const stat = statSync(file);
    if (stat.isDirectory()) prune(file, since);
    else if (stat.mtimeMs < since) rmSync(file);
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
      const since = Math.floor(Date.now() / 1000) * 1000;
      await runLogged('typescript', process.execPath, [tsc, '-p', 'tsconfig.build.json', '--pretty', 'false']);
      copyAlong();
      await writeEsmEntry();
      if (existsSync(inRoot('dist'))) prune(inRoot('dist'), since);
    }),
  );
}
