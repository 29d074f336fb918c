/** Captured functions whose closure changes between two calls: shapes and dtypes of tensors, modes of modules. */
import { hasDimensionNames } from '../support/release';
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

test('a property that the function reads of its closure makes another recording when it changes', () => {
  balanced(() => {
    torch.scope(() => {
      const w = torch.tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const x = torch.ones([2]);
      const functions: ((a: any) => any)[] = [
        (a) => a.mul(w.shape[0]!),
        (a) => a.mul(w.stride(0)),
        (a) => (w.isContiguous() ? a.mul(2) : a.neg()),
        (a) => a.mul(w.requiresGrad ? 2 : 3),
        (a) => a.mul(w.names[0] === 'N' ? 4 : 5),
      ];
      const all = functions.map((fn) => ({ fn, captured: torch.capture(fn) }));
      const name = () => (hasDimensionNames ? (w as any).rename_('N', 'C') : w);
      const changes = [() => w.t_(), () => w.requiresGrad_(), () => w.detach_(), name, () => {}];
      for (const change of [() => {}, ...changes]) {
        change();
        for (const { fn, captured } of all) {
          expect(captured(x).toArray()).toEqual(fn(x).toArray());
          expect(captured.reason).toBe(null);
        }
      }
      for (const { captured } of all) captured.dispose();
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

test('a module that changes its mode is recorded again, once for each mode', () => {
  torch.scope(() => {
    const net = new torch.nn.Sequential(new torch.nn.Linear(4, 4), new torch.nn.Dropout(1));
    const captured = torch.capture((x: any) => net.forward(x));
    const x = torch.ones([2, 4]);
    const isZero = () => captured(x).abs().sum().item() === 0; // dropout of everything
    const seen: unknown[] = [];
    for (const training of [true, false, true, false, false]) {
      net.train(training);
      seen.push([training, isZero(), captured.recordings, captured.reason]);
    }
    expect(seen).toEqual([
      [true, true, 1, null],
      [false, false, 2, null],
      [true, true, 2, null],
      [false, false, 2, null],
      [false, false, 2, null],
    ]);
    net.at(1)!.train(); // a part of it
    expect([isZero(), captured.recordings]).toEqual([true, 3]);
    captured.dispose();
  });
});

test('a function that switches its module itself is recorded once', () => {
  torch.scope(() => {
    const dropout = new torch.nn.Dropout(1);
    const captured = torch.capture((x: any) => {
      dropout.eval();
      const y = dropout.forward(x);
      dropout.train();
      return y;
    });
    const x = torch.ones([3]);
    for (let i = 0; i < 3; i++) expect(captured(x).toArray()).toEqual([1, 1, 1]);
    expect([captured.recordings, captured.replays, captured.reason]).toEqual([1, 3, null]);
    captured.dispose();
  });
});
