/** SyncBatchNorm against Python's BatchNorm of the joined batches, and ZeroRedundancyOptimizer against the plain optimizers. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { python3 } from '../support/python3';
import { expectDone, nodes, PROGRAMS } from './ranks';

jest.setTimeout(240_000);

test('on two ranks', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ltn-joined-'));
  try {
    const joined = path.join(folder, 'joined.pt');
    const python = await python3([path.join(PROGRAMS, 'joined_batch.py'), joined]);
    expect({ ...python, stderr: python.code === 0 ? '' : python.stderr }).toMatchObject({ code: 0, stderr: '' });
    expectDone(await nodes('parallel.mjs', 2, [joined]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
