/** Arguments of torch.async and torch.run: promises, signals, options. */
import { failure } from '../support/async';
import { balancedAsync, settled, thrown, torch, untyped } from '../support/torch';

describe('promises among the arguments of torch.async', () => {
  it('are awaited: alone, in a list, in the options', async () => {
    await torch.scope(async () => {
      const a = torch.tensor([1, -2]);
      const relu = () => untyped.async.relu(a);
      expect((await untyped.async.add(relu(), relu())).toArray()).toEqual([2, 0]);
      expect((await untyped.async.cat([a, relu(), relu()])).toArray()).toEqual([1, -2, 1, 0, 1, 0]);
      expect((await untyped.async.clamp(a, { min: relu() })).toArray()).toEqual([1, 0]);
      expect((await untyped.async.add(a, 1, { alpha: Promise.resolve(5) })).toArray()).toEqual([6, 3]);
      const out = torch.empty([0]);
      expect(await untyped.async.add(relu(), 1, { out })).toBe(out);
      const [values] = await untyped.async.max(relu(), 0);
      expect(values.item()).toBe(1);
      expect(await untyped.async.equal(a, Promise.resolve(a))).toBe(true);
    });
  });

  it('that reject: the call rejects with that reason and leaks nothing', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([2]);
      const reason = new Error('mine');
      await expect(untyped.async.add(Promise.reject(reason), 1)).rejects.toBe(reason);
      await expect(untyped.async.cat([a, Promise.reject(reason), Promise.reject(new Error('other'))])).rejects.toBe(
        reason,
      );
      await expect(untyped.async.add(a, a, { out: Promise.reject(reason) })).rejects.toBe(reason);
      const error = await failure(untyped.async.add(untyped.async.mm(a, a), 1));
      expect([error.code, error.op]).toEqual(['ERR_TORCH_RUNTIME', 'aten::mm']);
      a.dispose();
      settled();
    });
  });

  it('that resolve with a wrong value, or too late for another argument', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([2]);
      const wrong = await failure(untyped.async.add(Promise.resolve('x'), a));
      expect([wrong.code, wrong.stack]).toEqual(['ERR_TORCH_OVERLOAD', expect.stringContaining(__filename)]);
      const late = untyped.async.add(Promise.resolve(1), a);
      a.dispose();
      expect((await failure(late)).code).toBe('ERR_TORCH_DISPOSED');
      settled();
    });
  });

  it('scope and modes are those of the call', async () => {
    await torch.scope(async () => {
      const w = torch.ones([2], { requiresGrad: true });
      let off: any;
      torch.noGrad(() => {
        off = untyped.async.mul(Promise.resolve(w), 2);
      });
      expect((await off).requiresGrad).toBe(false);
      expect((await untyped.async.mul(Promise.resolve(w), 2)).requiresGrad).toBe(true);
      let inside: any;
      await torch.scope(async () => {
        inside = await untyped.async.add(Promise.resolve(w), 1);
      });
      expect(inside.disposed).toBe(true);
    });
  });
});

it('wrong signals and options: torch.async rejects, torch.run throws, and the error suggests the right option', async () => {
  const a = torch.ones([2]);
  expect((await failure(untyped.async.add(a, 1, { signal: 5 }))).code).toBe('ERR_TORCH_ARGUMENT');
  for (const wrong of [5, null]) expect(thrown(() => untyped.run(() => 1, wrong)).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => untyped.run(() => 1, { singal: undefined })).message).toMatch(
    /got 'singal'; did you mean 'signal'\?/,
  );
  a.dispose();
});

it('torch.async and the argument of torch.run’s function are frozen', async () => {
  const before = untyped.addmm;
  for (const change of [
    (t: any) => (t.addmm = 1),
    (t: any) => delete t.addmm,
    (t: any) => Object.freeze(t),
    (t: any) => Object.defineProperty(t, 'addmm', { value: 1 }),
    (t: any) => Object.setPrototypeOf(t, null),
  ]) {
    expect(thrown(() => change(untyped.async)).code).toBe('ERR_TORCH_ARGUMENT');
    expect((await failure(untyped.run(change))).code).toBe('ERR_TORCH_ARGUMENT');
  }
  expect([untyped.addmm, typeof untyped.async.addmm]).toEqual([before, 'function']);
});
