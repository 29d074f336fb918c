/**
 * Hostile sizes end in an error with its code, with and without torch.setMemoryLimit: under a limit on the address space, so that
 * an allocation that passes the limit by would fail, and with resident memory that stays near the limit.
 */
import * as path from 'node:path';
import { run } from '../support/child';
import { withRealLibraries } from '../support/real-libraries';
import { expectResident, limitMs, ordinaryEnv } from '../support/sanitized';
import { LIB } from '../support/torch';

interface Line {
  name: string;
  kind: string;
  code: string;
  tensors: number;
  allocatedBytes: number;
  more: number;
}
const MB = 2 ** 20;

/** With the real libraries the process starts with 1.8 GiB of address space, most of it V8's. */
async function linesWith(limit: string, space: number, kinds: string): Promise<Line[]> {
  const script = `ulimit -v ${space / 1024}; ulimit -c 0; exec "$0" "$@"`;
  const args = ['-c', script, process.execPath, '--max-old-space-size=256', path.join(__dirname, 'hostile-sizes.cjs')];
  const { stdout, code, signal } = await run('/bin/bash', [...args, LIB, limit, kinds], {
    limitMs: 300_000,
    env: { ...withRealLibraries(ordinaryEnv()), OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1' },
  });
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** What is not the expected error, and what is left. */
const wrong = (lines: Line[], expected: string) =>
  lines.filter(({ code, tensors, allocatedBytes }) => code !== expected || tensors !== 0 || allocatedBytes !== 0);

test(
  'with torch.setMemoryLimit each is ERR_TORCH_MEMORY_LIMIT, leaves nothing and takes little more',
  async () => {
    const lines = await linesWith(String(256 * MB), 6144 * MB, 'now,run');
    expect(lines.length).toBeGreaterThan(60);
    expect(wrong(lines, 'ERR_TORCH_MEMORY_LIMIT')).toEqual([]);
    // 25 MiB of freed blocks for each of two threads, and what LAPACK and oneDNN keep.
    expectResident(Math.max(...lines.map(({ more }) => more))).toBeLessThan(256 + 192);
  },
  limitMs(320_000),
);

test(
  'without it, under a limit on the address space, each is ERR_TORCH_OUT_OF_MEMORY',
  async () => {
    const lines = await linesWith('none', 2600 * MB, 'now');
    expect(wrong(lines, 'ERR_TORCH_OUT_OF_MEMORY')).toEqual([]);
  },
  limitMs(320_000),
);
