/** A handle whose slot was reused, a hundred thousand times: it never reaches the new tensor. */
import { ask } from '../support/child';
import { codeOf, torch } from '../support/torch';

test('a disposed tensor stays disposed however often its slot is reused', () => {
  const stale: any[] = [];
  for (let i = 0; i < 20_000; i++) {
    const t = torch.full([1], i);
    stale.push(t);
    t.dispose();
  }
  // Other tensors have the slots now.
  const live = Array.from({ length: 100 }, (_, i) => torch.full([2], i));
  for (const t of stale) {
    if (!t.disposed) throw new Error('a stale handle reached a tensor');
    t.dispose(); // must not free another tensor
  }
  for (let i = 0; i < stale.length; i += 97) {
    expect(codeOf(() => stale[i].add(1))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => torch.cat([live[0]!, stale[i]]))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => torch.keep(stale[i]))).toBe('ERR_TORCH_DISPOSED');
    torch.disposeAll([stale[i]]);
    expect(torch.scope(() => stale[i])).toBe(stale[i]);
  }
  live.forEach((t, i) => {
    expect(t.toArray()).toEqual([i, i]);
    t.dispose();
  });
});

test('random disposal and reuse: each handle refers to its own tensor or throws that it is disposed', async () => {
  const { wrong, stale, live, left } = await ask(`
    let state = 12345;
    const random = (n) => { state = (state * 1103515245 + 12345) % 2147483648; return state % n; };
    const all = [];
    let wrong = 0, stale = 0, live = 0;
    const check = ({ tensor, value, gone }) => {
      if (tensor.disposed !== gone) return wrong++;
      if (gone) { stale++; try { tensor.item(); wrong++; } catch (e) { if (e.code !== 'ERR_TORCH_DISPOSED') wrong++; } }
      else { live++; if (tensor.item() !== value) wrong++; }
    };
    for (let step = 0; step < 100000; step++) {
      const what = random(10);
      if (what < 4) all.push({ tensor: torch.tensor(step), value: step, gone: false });
      else if (what < 5) {
        let inner;
        torch.scope(() => { inner = torch.tensor(step); });
        all.push({ tensor: inner, value: step, gone: true });
      } else if (all.length > 0) {
        const one = all[random(all.length)];
        if (what < 8) { one.tensor.dispose(); one.gone = true; } else check(one);
      }
      if (all.length > 2000) all.splice(0, 1000).forEach((one) => { check(one); one.tensor.dispose(); });
    }
    all.forEach((one) => { check(one); one.tensor.dispose(); });
    answer({ wrong, stale: stale > 5000, live: live > 5000, left: counts().tensors });
  `);
  expect({ wrong, stale, live, left }).toEqual({ wrong: 0, stale: true, live: true, left: 0 });
});
