/** Loaders inside torch.run, where values are not there yet. */
import { torch } from '../support/torch';

const { data } = torch.utils;
const { DataLoader } = data;

test('a loop inside torch.run is refused by its name', async () => {
  const loader = new DataLoader([1, 2, 3]);
  const inRun = (fn: () => unknown) =>
    torch.run(() => [fn(), torch.ones([1])] as never).catch((error: unknown) => error);
  const refused = { code: 'ERR_TORCH_PENDING', op: 'utils.data.DataLoader' };
  expect(await inRun(() => [...loader])).toMatchObject(refused);
  expect(await inRun(() => loader[Symbol.asyncIterator]())).toMatchObject(refused);
  const split = await inRun(() => data.randomSplit([1, 2], [1, 1]));
  expect(split).toMatchObject({ ...refused, op: 'utils.data.randomSplit' });
});
