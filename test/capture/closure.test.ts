/** Captured functions that use a tensor of their closure whose shape or dtype changes between two calls. */
import { balanced, torch } from '../support/torch';

test('a changed shape or dtype of the closure makes another recording', () => {
  balanced(() => {
    torch.scope(() => {
      const w = torch.ones([5, 2]);
      const x = torch.ones([2]);
      const last = torch.capture((a: any) => w.unbind(0)[w.shape[0]! - 1]!.add(a));
      const mean = torch.capture((a: any) => w.sum().div(w.numel).add(a));
      const values = () => [last(x).toArray(), mean(x).toArray()];
      expect(values()).toEqual([
        [2, 2],
        [2, 2],
      ]);
      expect(values()).toEqual([
        [2, 2],
        [2, 2],
      ]);
      w.resize_([2, 2]);
      expect(values()).toEqual([
        [2, 2],
        [2, 2],
      ]);
      w.resize_([100, 2]).fill_(3);
      expect(values()).toEqual([
        [4, 4],
        [4, 4],
      ]);
      w.setData(torch.full([1, 2], 7, { dtype: 'float64' }));
      expect([last(x).dtype, ...values()]).toEqual(['float64', [8, 8], [8, 8]]);
      w.resize_([0, 2]);
      expect(() => last(x)).toThrow(TypeError); // the function itself: there is no last one
      for (const captured of [last, mean]) captured.dispose();
    });
  });
});

test('an unchanged closure is replayed, also with other values', () => {
  torch.scope(() => {
    const w = torch.ones([3]);
    const captured = torch.capture((a: any) => w.add(a));
    const x = torch.ones([3]);
    captured(x);
    w.fill_(5);
    expect(captured(x).toArray()).toEqual([6, 6, 6]);
    const { recordings, replays, reason } = captured;
    expect({ recordings, replays, reason }).toEqual({ recordings: 1, replays: 2, reason: null });
  });
});
