/** Ranks that meet over TCP, or cannot. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { end, expectDone, nodes, PROGRAMS } from './ranks';

jest.setTimeout(240_000);

test('tcp://, a barrier without a rank, no master, a rank twice, two sizes, and a store that dies', async () => {
  expectDone(await nodes('meeting.mjs', 2));
});

test('a file to meet in that is a folder, and one whose folder does not exist', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ltn-folder-'));
  try {
    expectDone([await end([process.execPath, path.join(PROGRAMS, 'folders.mjs'), folder])]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
