/** `npm run build` from scratch, in a copy of the sources, so that the checkout's own build does not change. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inRoot, root } from '../../scripts/paths.mjs';
import { StepError } from '../../scripts/steps/errors.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { integer, megabytes, table } from '../support/markdown.mjs';

/** Copies tracked files and untracked ones that git does not ignore, and node_modules, so that the download is not measured. */
function copySources(to) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const files = listed
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(inRoot(file)));
  for (const file of files) cpSync(inRoot(file), path.join(to, file));
  cpSync(inRoot('node_modules'), path.join(to, 'node_modules'), { recursive: true, verbatimSymlinks: true });
}

async function measure() {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-bench-'));
  try {
    copySources(scratch);
    const timed = ['python3', inRoot('bench', 'python', 'timed.py'), 'npm', 'run', '--silent', 'build'];
    const first = await jsonOf(timed, { cwd: scratch, seconds: 3600, quiet: true });
    if (first.status !== 0) throw new StepError(`npm run build failed with status ${first.status} in a fresh copy.`);
    const again = await jsonOf(timed, { cwd: scratch, seconds: 600, quiet: true });
    return { first, again };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export async function buildSection() {
  const { first, again } = await step('build time from nothing (minutes)', measure);
  const row = (title, { wallSeconds, cpuSeconds, peak }) => {
    const seconds = (value) => `${value < 10 ? value.toFixed(1) : integer(value)} s`;
    return [title, seconds(wallSeconds), seconds(cpuSeconds), megabytes(peak)];
  };
  return [
    '## Build time',
    '`npm run build` with codegen, the addon with all ops and TypeScript; npm packages were installed before. Peak RSS is ' +
      'that of the largest process.',
    table(['', 'Wall', 'CPU', 'Peak RSS'], [row('from nothing', first), row('again, nothing changed', again)]),
  ].join('\n\n');
}
