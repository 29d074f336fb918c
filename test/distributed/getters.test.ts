/** Code of the program that runs while a collective reads its arguments. */
import path from 'node:path';
import { expectDone, PROGRAMS, together } from './ranks';

test('a dispose, an exception and the end of the group in the middle of a call are errors, and leave nothing', async () => {
  expectDone(await together((method) => [[process.execPath, path.join(PROGRAMS, 'getters.mjs'), method]]));
});
