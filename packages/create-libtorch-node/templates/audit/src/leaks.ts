/**
 * The leak check of CI: runs the job under leak-audit, and checks the capture. Exit status: 0 clean, 1 leak, 3 too little
 * data, 4 lost events.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(import.meta.url);
const manifest = require.resolve('libtorch-node/package.json');
const audit = path.join(path.dirname(manifest), require(manifest).bin['leak-audit']);
const capture = 'leaks.ltna';

/** Runs leak-audit; ends this program with its status unless that is 0. */
function leakAudit(...args: string[]): void {
  const { status, error } = spawnSync(process.execPath, [audit, ...args], { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const writes = process.argv.includes('--write-baseline');
leakAudit(
  'run',
  '--quiet',
  '--interval',
  '100ms',
  '-o',
  capture,
  '--',
  process.execPath,
  'dist/src/main.js',
  '--seconds',
  '6',
);
leakAudit(
  'check',
  capture,
  ...(writes ? ['--write-baseline', 'leaks.json'] : ['--baseline', 'leaks.json']),
  ...['--suppressions', 'suppressions.json', '--junit', 'leaks.xml', '--sarif', 'leaks.sarif'],
);
