/** Scopes, keep and move inside torch.run, where results are pending and do not have an owner yet. */
import { codeOf, settled, thrown, torch, untyped } from '../support/torch';

const ones = () => torch.ones([2]);
type Tensor = ReturnType<typeof ones>;

afterEach(() => {
  expect(torch.isGradEnabled()).toBe(true);
});

test('torch.scope returns a pending result unchanged, and ops accept it', async () => {
  const before = settled();
  const a = ones();
  const y = (await torch.run((T: any) => {
    const twice = torch.scope(() => T.add(a, a));
    const made: Tensor[] = [];
    const more = T.scope(() => ({ sum: T.add(twice, 1), list: [torch.scope(() => T.mul(twice, 3))] }));
    torch.scope(() => {
      made.push(ones()); // not an op of T: made at once, released with the scope
      return more;
    });
    expect(made[0]!.disposed).toBe(true);
    return T.add(more.sum, more.list[0]);
  })) as Tensor;
  expect(y.toArray()).toEqual([9, 9]);
  torch.disposeAll([a, y]);
  expect(settled()).toEqual(before);
});

test('what torch.run resolves with belongs to the scope in which it was called', async () => {
  const before = settled();
  const [kept, inner] = await torch.scope(async () => {
    const all = (await torch.run((T: any) => torch.scope(() => [T.add(ones(), 1), T.add(ones(), 2)]))) as Tensor[];
    return [torch.keep(all[0]!), { none: all[1]!.disposed, tensor: new WeakRef(all[1]!) }] as const;
  });
  expect([kept.disposed, inner.none, inner.tensor.deref()?.disposed ?? true]).toEqual([false, false, true]);
  kept.dispose();
  expect(settled()).toEqual(before);
});

test('a value that is not a tensor, and lists, pass through a scope', async () => {
  const a = ones();
  const [item, parts] = (await torch.run((T: any) =>
    torch.scope(() => [T.add(a, a).sum().item(), T.add(a, a).unbind()]),
  )) as [number, Tensor[]];
  expect(item).toBe(4);
  expect(parts.map((t) => t.item())).toEqual([2, 2]);
  torch.disposeAll([a, parts]);
});

test('errors of keep and scope.move on a pending result say what to do', async () => {
  const before = settled();
  const a = ones();
  const errors: (Error & { code: string })[] = [];
  const y = (await torch.scope((s) =>
    torch.run((T: any) => {
      const pending = T.add(a, a);
      const value = pending.unbind();
      for (const each of [pending, [pending], { at: new Map([[1, pending]]) }, value]) {
        errors.push(
          thrown(() => torch.keep(each)),
          thrown(() => s.move(each)),
          thrown(() => T.keep(each)),
        );
      }
      torch.disposeAll([pending, value]); // nothing to release yet
      return pending;
    }),
  )) as Tensor;
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['ERR_TORCH_PENDING']));
  expect(errors[0]!.message).toBe(
    'keep: expected a tensor, got a pending one, which no scope owns yet: return it from the function of torch.run, and ' +
      'pass what torch.run resolves with',
  );
  expect(errors[1]!.message).toMatch(/^scope\.move: expected a tensor, got a pending one/);
  expect(y.toArray()).toEqual([2, 2]); // a scope's result moves to its parent, here to the collector
  torch.disposeAll([a, y]);
  expect(settled()).toEqual(before);
});

test('existing tensors can be kept and moved in torch.run', async () => {
  const before = settled();
  const kept: Tensor[] = [];
  await torch.scope(async (s) => {
    await torch.run((T: any) => {
      kept.push(torch.keep(ones()), s.move(ones()));
      kept.push(torch.scope(() => ones()));
      return T.add(kept[0], kept[1]);
    });
  });
  expect(kept.map((t) => t.disposed)).toEqual([false, false, true]);
  torch.disposeAll(kept);
  expect(settled()).toEqual(before);
});

test('a failed keep changes nothing', async () => {
  const before = settled();
  await torch.run((T: any) =>
    torch.scope(() => {
      const t = ones();
      expect(codeOf(() => untyped.keep([t, T.add(t, t)]))).toBe('ERR_TORCH_PENDING');
      expect(t.disposed).toBe(false);
      return null;
    }),
  );
  expect(settled()).toEqual(before);
});
