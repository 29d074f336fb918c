/** What comes after a pass has been aborted: the loader frees its own tensors, never those of the program. */
import { settled, torch } from '../support/torch';

const { DataLoader } = torch.utils.data;

/** Aborts while a batch is read, lets it come, and waits until it has arrived. */
async function aborted(make: (gate: Promise<void>) => [dataset: any, options: any]): Promise<void> {
  const controller = new AbortController();
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const [dataset, options] = make(gate);
  const loader = new DataLoader(dataset, { ...options, signal: controller.signal });
  const first = loader[Symbol.asyncIterator]().next();
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(first).rejects.toBe(reason);
  open();
  await gate;
  await new Promise(setImmediate);
}

describe('a batch that comes after the pass was aborted', () => {
  const cases: Record<string, (held: any, gate: Promise<void>) => [dataset: any, options: any]> = {
    'a sample': (held, gate) => [{ length: 1, getItem: () => gate.then(() => held) }, { batchSize: null }],
    'a sample of a stream': (held, gate) => [
      (async function* () {
        await gate;
        yield held;
      })(),
      { batchSize: null },
    ],
    'a batch of getItems': (held, gate) => [
      { length: 1, getItem: () => 0, getItems: () => gate.then(() => ({ held })) },
      {},
    ],
    'a batch of collateFn': (held, gate) => [[1], { collateFn: () => gate.then(() => held) }],
  };
  test.each(Object.keys(cases))('does not dispose of a tensor of the program: %s', async (name) => {
    const held = torch.ones([3]);
    await aborted((gate) => cases[name]!(held, gate));
    expect(held.disposed).toBe(false);
    held.dispose();
  });

  test('is released if the loader made it', async () => {
    const before = settled().tensors;
    await aborted((gate) => [{ length: 1, getItem: () => gate.then(() => 1) }, {}]);
    expect(torch.memory().tensors).toBe(before);
  });
});
