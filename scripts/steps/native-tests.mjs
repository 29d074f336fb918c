/** Runs CTest in build/cmake: codegen tests, comparison of Declarations.yaml with torchgen's, native unit tests. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cmakeDir } from '../paths.mjs';
import { cmakeBuild } from './cmake.mjs';
import { runShown } from './command.mjs';
import { withLock } from './lock.mjs';
import { step } from './progress.mjs';

const countIn = (head, name) => Number(head.match(new RegExp(`\\b${name}="(\\d+)"`))?.[1] ?? 0);

/**
 * @param {{ dir?: string, definitions?: string[], env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<import('./tally.mjs').Counts>}
 */
export async function nativeTests({ dir = cmakeDir, definitions = [], env = process.env } = {}) {
  const log = `${path.basename(dir)}-tests`;
  await withLock(() =>
    step('native tests: compiling', () =>
      cmakeBuild(log, { dir, definitions: ['-DBUILD_TESTING=ON', ...definitions] }),
    ),
  );
  const report = path.join(dir, 'ctest.xml');
  rmSync(report, { force: true });
  const args = ['--test-dir', dir, '--output-on-failure', '--no-tests=error', '--output-junit', report];
  const status = await runShown('ctest', args, { env });
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const head = readFileSync(report, 'utf8').match(/<testsuite\b[^>]*>/)?.[0] ?? '';
  const [tests, failures, skipped, disabled] = ['tests', 'failures', 'skipped', 'disabled'].map((name) =>
    countIn(head, name),
  );
  const failed = status !== 0 && failures === 0 ? 1 : failures;
  return { passed: Math.max(0, tests - failures - skipped - disabled), failed, skipped: skipped + disabled };
}
