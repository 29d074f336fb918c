/**
 * Copies of the library in one thread, as Jest loads one for each file of tests: one that the program has dropped is freed, with
 * all of its globals, whatever it was used for. The first and the last copy stay, because native code calls functions of theirs.
 */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';

test('a dropped copy is freed, whatever it was used for', async () => {
  const ran = await run(process.execPath, ['--expose-gc', path.join(__dirname, 'copies.cjs'), LIB]);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toEqual({
    dropped: ['ops', 'scopes', 'anomaly', 'hooks', 'async', 'run', 'modules'],
    kept: [],
    last: [2],
  });
});
