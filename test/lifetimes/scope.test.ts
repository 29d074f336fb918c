/** torch.scope and torch.openScope: tensors made inside are freed at the end, returned ones move out, exactly. */
import type { Tensor } from '../../types';
import { balanced, balancedAsync, codeOf, counts, torch, untyped } from '../support/torch';

const ones = () => torch.ones([8]);

describe('torch.scope', () => {
  test('releases tensors made inside and not returned', () => {
    balanced(() => {
      const kept = torch.scope(() => {
        ones().add(1).mul(2);
        return ones();
      });
      expect(kept.disposed).toBe(false);
      expect(kept.toArray()).toEqual(Array(8).fill(1));
      kept.dispose();
    });
  });

  test('releases everything if it throws, also nested', () => {
    balanced(() => {
      expect(() =>
        torch.scope(() => {
          ones();
          torch.scope(() => {
            ones();
            throw new RangeError('inside');
          });
        }),
      ).toThrow(RangeError);
      expect(codeOf(() => torch.scope(() => (ones() as Tensor).view([3])))).toBe('ERR_TORCH_RUNTIME');
    });
  });

  test('keeps tensors at any depth of the result, the same one once, in cycles too', () => {
    balanced(() => {
      const result = torch.scope(() => {
        const t = ones();
        const value: any = { t, list: [[t, ones()]], map: new Map([[ones(), new Set([ones()])]]), nothing: null };
        value.self = value;
        ones();
        return value;
      });
      const inMap = [...result.map.entries()].flatMap(([key, set]: any) => [key, ...set]);
      for (const t of [result.t, ...result.list[0], ...inMap]) expect(t.disposed).toBe(false);
      torch.disposeAll(result);
    });
  });

  test('a returned view lives on without its base', () => {
    balanced(() => {
      const view = torch.scope(() => torch.arange(100).slice(0, 50, 52));
      expect(view.toArray()).toEqual([50, 51]);
      view.dispose();
    });
  });

  test('named tuples move as a whole', () => {
    balanced(() => {
      const result = torch.scope(() => torch.tensor([3, 1, 2]).sort());
      expect(result.values.toArray()).toEqual([1, 2, 3]);
      expect(result.indices.disposed).toBe(false);
      torch.disposeAll(result);
    });
  });

  test('a returned outer tensor keeps its owner', () => {
    balanced(() => {
      const outside = ones();
      expect(torch.scope(() => outside)).toBe(outside);
      expect(outside.disposed).toBe(false);
      let inner: any;
      torch.scope(() => {
        const middle = ones();
        inner = torch.scope(() => torch.scope(() => middle));
        expect(inner).toBe(middle);
        expect(middle.disposed).toBe(false);
      });
      expect(inner.disposed).toBe(true);
      outside.dispose();
    });
  });

  test('moves one level: to the parent scope, then out', () => {
    balanced(() => {
      let escaped: any;
      const result = torch.scope(() => {
        escaped = torch.scope(() => ones());
        expect(escaped.disposed).toBe(false);
        return torch.scope(() => torch.scope(() => ones()));
      });
      expect(escaped.disposed).toBe(true);
      expect(result.disposed).toBe(false);
      result.dispose();
    });
  });

  test('a result disposed inside is returned disposed', () => {
    balanced(() => {
      const t = torch.scope(() => {
        const inner = ones();
        inner.dispose();
        return inner;
      });
      expect(t.disposed).toBe(true);
    });
  });

  test('10,000 scopes of ten tensors each leak nothing', () => {
    balanced(() => {
      for (let i = 0; i < 10_000; i++) torch.scope(() => Array.from({ length: 10 }, () => ones()).length);
    });
  });

  test('refuses values that are not functions', () => {
    expect(codeOf(() => untyped.scope(1))).toBe('ERR_TORCH_ARGUMENT');
  });
});

describe('torch.openScope', () => {
  test('using: the end of the block is the end of the scope', () => {
    balanced(() => {
      let inside: any;
      let moved: any;
      {
        using s = torch.openScope();
        inside = ones();
        moved = s.move({ t: ones() });
      }
      expect(inside.disposed).toBe(true);
      expect(moved.t.disposed).toBe(false);
      torch.disposeAll(moved);
    });
  });

  test('closing twice does nothing; later tensors do not belong to the scope', () => {
    balanced(() => {
      const s = torch.openScope();
      s.close();
      const after = ones();
      s.close();
      s[Symbol.dispose]();
      expect(s.closed).toBe(true);
      expect(after.disposed).toBe(false);
      expect(codeOf(() => s.move(after))).toBe('ERR_TORCH_SCOPE');
      after.dispose();
    });
  });

  test('closing an outer scope ends the inner ones, in any order of closing', () => {
    balanced(() => {
      const outer = torch.openScope();
      const a = ones();
      const inner = torch.openScope();
      const b = ones();
      outer.close();
      expect([a.disposed, b.disposed, inner.closed]).toEqual([true, true, true]);
      const later = ones();
      inner.close();
      expect(later.disposed).toBe(false);
      later.dispose();
    });
  });

  test('a move goes to the parent scope, which then owns it', () => {
    balanced(() => {
      const outer = torch.openScope();
      const inner = torch.openScope();
      const t = inner.move(ones());
      inner.close();
      expect(t.disposed).toBe(false);
      outer.close();
      expect(t.disposed).toBe(true);
    });
  });

  test('move works on a scope that is not the current one', () => {
    balanced(() => {
      const outer = torch.openScope();
      const t = ones();
      const inner = torch.openScope();
      outer.move(t);
      inner.close();
      outer.close();
      expect(t.disposed).toBe(false);
      t.dispose();
    });
  });
});

test('keep passes a tensor to the collector, through every scope', () => {
  balanced(() => {
    const kept = torch.scope(() => torch.scope(() => ({ list: [torch.keep(ones())] })).list[0]!);
    let also: any;
    torch.scope(() => {
      torch.scope(() => {
        also = torch.keep({ t: ones() });
      });
    });
    expect([kept.disposed, also.t.disposed]).toEqual([false, false]);
    torch.disposeAll([kept, also]);
  });
});

describe('async scopes', () => {
  const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

  test('live until the promise settles; the result moves out', async () => {
    await balancedAsync(async () => {
      let inside: any;
      const result = await torch.scope(async () => {
        inside = ones();
        await tick();
        expect(inside.disposed).toBe(false);
        const later = ones();
        await tick();
        return { sum: later.add(inside) };
      });
      expect(inside.disposed).toBe(true);
      expect(result.sum.toArray()).toEqual(Array(8).fill(2));
      torch.disposeAll(result);
    });
  });

  test('a rejection releases everything', async () => {
    await balancedAsync(async () => {
      const failing = torch.scope(async () => {
        ones();
        await tick();
        ones();
        throw new Error('late');
      });
      await expect(failing).rejects.toThrow('late');
    });
  });

  test('concurrent scopes are independent', async () => {
    await balancedAsync(async () => {
      const made: any[] = [];
      const one = (rounds: number) =>
        torch.scope(async () => {
          const mine: any[] = [];
          for (let i = 0; i < rounds; i++) {
            mine.push(ones());
            await tick(1);
            for (const t of mine) expect(t.disposed).toBe(false);
          }
          made.push(...mine);
          return mine[0];
        });
      const results = await Promise.all([one(2), one(5), one(8)]);
      expect(results.map((t) => t.disposed)).toEqual([false, false, false]);
      expect(made.filter((t) => !t.disposed)).toHaveLength(3);
      torch.disposeAll(results);
    });
  });

  test('tensors that the surrounding code makes meanwhile do not belong to the scope', async () => {
    await balancedAsync(async () => {
      const pending = torch.scope(async () => {
        ones();
        await tick(5);
      });
      const outside = ones();
      await pending;
      expect(outside.disposed).toBe(false);
      outside.dispose();
    });
  });

  test('synchronous scopes nest in a continuation', async () => {
    await balancedAsync(async () => {
      const t = await torch.scope(async () => {
        await tick();
        const inner = torch.scope(() => ones());
        await tick();
        expect(inner.disposed).toBe(false);
        return torch.scope(() => inner.add(1));
      });
      expect(t.toArray()).toEqual(Array(8).fill(2));
      t.dispose();
    });
  });

  test('a scope whose code waits outlives its parent, and other scopes do not get its tensors', async () => {
    await balancedAsync(async () => {
      let inside: any;
      let pending: Promise<unknown> | undefined;
      torch.scope(() => {
        pending = torch.scope(async () => {
          inside = ones();
          await tick();
          expect(inside.disposed).toBe(false);
        });
      });
      expect(inside.disposed).toBe(false);
      const held = counts();
      torch.scope(() => ones().numel);
      expect(counts()).toEqual(held);
      await pending;
      expect(inside.disposed).toBe(true);
    });
  });
});
