/** Messages that do not fit what waits for them, that were withdrawn, or that end in the middle; collectives nobody waits for. */
import path from 'node:path';
import { expectDone, nodes, PROGRAMS, together } from './ranks';

jest.setTimeout(240_000);

test('between ranks in Node', async () => {
  const [rank0, rank1] = await nodes('messages.mjs', 2);
  expectDone([rank0!]);
  expect(rank1).toMatchObject({ signal: 'SIGKILL', stderr: '' });
});

test('from a rank in Python: an error of the rank in Node, which Gloo would end', async () => {
  expectDone(
    await together((method) => [
      ['/usr/bin/python3', path.join(PROGRAMS, 'misfit.py'), method, '0', '2'],
      [process.execPath, path.join(PROGRAMS, 'misfit.mjs'), method, '1', '2'],
    ]),
  );
});
