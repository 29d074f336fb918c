/** Ranks that meet over TCP, or cannot. */
import { expectDone, nodes } from './ranks';

jest.setTimeout(240_000);

test('tcp://, a barrier without a rank, no master, a rank twice, two sizes, and a store that dies', async () => {
  expectDone(await nodes('meeting.mjs', 2));
});
