/** The Python with the distribution's torch, which uses the same libtorch as the addon. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const candidates = [process.env.BENCH_PYTHON, '/usr/bin/python3', 'python3'];

/** @returns {string | undefined} undefined if no Python here has torch: PyTorch's columns stay empty */
export function pythonWithTorch() {
  return candidates.find(
    (python) =>
      python &&
      (!python.includes('/') || existsSync(python)) &&
      spawnSync(python, ['-c', 'import torch'], { timeout: 120_000, stdio: 'ignore' }).status === 0,
  );
}
