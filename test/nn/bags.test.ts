/** Bags whose last offset is the end of the last one. */
import { refused } from '../support/refused';
import { balanced, torch, untyped } from '../support/torch';

test('embeddingBag: indices after the end of the last bag', () => {
  const long = (list: number[]) => torch.tensor(list, { dtype: 'int64' });
  const bags = (mode: string, offsets: number[], options = {}) =>
    untyped.nn.functional.embeddingBag(torch.zeros([1000], { dtype: 'int64' }), torch.ones([3, 64]), long(offsets), {
      mode,
      includeLastOffset: true,
      ...options,
    });
  const message = /offsets: expected .*as many starts of bags as there are bags/;
  balanced(() => {
    const cases = [['max'], ['mean'], ['sum', { paddingIdx: 1 }], ['max', { paddingIdx: 0 }]] as const;
    for (const [mode, options] of cases) {
      refused(
        (offsets) => bags(mode, offsets as number[], options),
        [[0], [0, 1], [0, 999, 1]],
        'ERR_TORCH_RUNTIME',
        message,
      );
    }
    const module = new (torch as any).nn.EmbeddingBag(3, 2, { mode: 'max', includeLastOffset: true });
    refused(() => module.forward(long([0, 1]).view([1, 2])), [0], 'ERR_TORCH_RUNTIME', message);
    module.dispose();
    torch.scope(() => {
      expect(bags('max', [0, 500, 1000]).shape).toEqual([2, 64]);
      expect(bags('sum', [0, 1000], { paddingIdx: 1 }).sum().item()).toBe(64_000);
      // The end of the last bag may be earlier for the kernel that reads the ends.
      expect(bags('sum', [0, 2]).sum().item()).toBe(128);
    });
  });
});
