/** The Python whose torch is the distribution's, and so the same libtorch as the addon's. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const candidates = [process.env.BENCH_PYTHON, '/usr/bin/python3', 'python3'];

/** @returns {string | undefined} undefined when no Python here has torch: its columns stay empty */
export function pythonWithTorch() {
  return candidates.find(
    (python) =>
      python &&
      (!python.includes('/') || existsSync(python)) &&
      spawnSync(python, ['-c', 'import torch'], { timeout: 120_000, stdio: 'ignore' }).status === 0,
  );
}
