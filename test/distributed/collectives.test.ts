/** Collectives among 2 and 4 ranks in Node, and between a rank in Python and one in Node. */
import path from 'node:path';
import { expectDone, nodes, PROGRAMS, together } from './ranks';

test.each([2, 4])('every collective gives the right values on %i ranks', async (size) => {
  expectDone(await nodes('collectives.mjs', size));
});

test.each([2, 3])('unusual tensors and calls that differ do not end a process, on %i ranks', async (size) => {
  expectDone(await nodes('unusual.mjs', size));
});

test('calls that the ranks do not compare start in the order of the program', async () => {
  expectDone(await nodes('unchecked.mjs', 2));
});

test('a rank in Python and a rank in Node take part in the same collectives', async () => {
  expectDone(
    await together((method) => [
      ['/usr/bin/python3', path.join(PROGRAMS, 'mixed.py'), method, '0', '2'],
      [process.execPath, path.join(PROGRAMS, 'mixed.mjs'), method, '1', '2'],
    ]),
  );
});
