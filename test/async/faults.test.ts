/** Failures of torch.run and torch.async: errors, aborts, memory, and leaks. */
import { failure, ms, until } from '../support/async';
import { ask, program } from '../support/child';
import { balancedAsync, codeOf, counts, settled, torch, untyped } from '../support/torch';

describe('failures', () => {
  it('rejects with the code, the op, the shapes and the caller’s line', async () => {
    await balancedAsync(async () => {
      const [a, b] = [torch.ones([2, 3]), torch.ones([2, 3])];
      const error = await failure(untyped.async.mm(a, b));
      expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'aten::mm' });
      expect(error.message).toMatch(/self: float32\[2, 3\], mat2: float32\[2, 3\]/);
      expect(error.stack!.split('\n').find((line) => line.includes(' at '))).toContain(__filename);
      const inside = await failure(untyped.run((t: any) => t.mm(t.add(a, 1), b).sum()));
      expect(inside).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'aten::mm' });
      expect(inside.message).toMatch(/self: float32\[2, 3\], mat2: float32\[2, 3\]/);
      expect(inside.stack).toContain(__filename);
      torch.disposeAll([a, b]);
    });
  });

  it('bad arguments, disposed tensors, a function that throws, and no function', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([2]);
      expect((await failure(untyped.async.add(a, 'x'))).code).toBe('ERR_TORCH_OVERLOAD');
      const gone = torch.ones([2]);
      gone.dispose();
      expect((await failure(untyped.async.add(a, gone))).code).toBe('ERR_TORCH_DISPOSED');
      await expect(
        untyped.run((t: any) => {
          t.add(a, 1);
          throw new RangeError('mine');
        }),
      ).rejects.toThrow('mine');
      await expect(
        untyped.run(async (t: any) => {
          await t.add(a, 1);
          throw new RangeError('mine');
        }),
      ).rejects.toThrow('mine');
      expect(codeOf(() => untyped.run(5))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => untyped.run(() => {}, 5))).toBe('ERR_TORCH_ARGUMENT');
      a.dispose();
      settled();
    });
  });

  it('a pending result elsewhere: the error says what to do', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([2]);
      let kept: any;
      const sum = await untyped.run((t: any) => {
        const p = t.add(a, 1);
        kept = p;
        expect(codeOf(() => torch.equal(p, p))).toBe('ERR_TORCH_PENDING');
        expect(codeOf(() => p.strides)).toBe('ERR_TORCH_PENDING');
        expect(codeOf(() => `${p.toArray()}`)).toBe('ERR_TORCH_PENDING');
        expect(codeOf(() => p.requiresGrad)).toBe('ERR_TORCH_PENDING');
        expect(String(p)).toBe('Tensor { pending }');
        expect(p.disposed).toBe(false);
        p.dispose();
        return p.sum();
      });
      expect(sum.item()).toBe(4);
      expect(codeOf(() => kept.add(1))).toBe('ERR_TORCH_PENDING');
      expect((await failure(kept)).code).toBe('ERR_TORCH_PENDING');
      const other = untyped.run((t: any) => t.add(kept, 1));
      expect((await failure(other)).code).toBe('ERR_TORCH_PENDING');
      torch.disposeAll([sum, a]);
      settled();
    });
  });

  it('abort: before, while waiting, while running', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([400, 400]);
      const reason = new Error('enough');
      await expect(untyped.async.mm(a, a, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const controller = new AbortController();
      let ended = 0;
      const running = untyped.run(
        (t: any) => {
          let x = a;
          for (let i = 0; i < 2000; i++) x = t.mm(x, a);
          return x;
        },
        { signal: controller.signal },
      );
      const waiting = untyped.async.mm(a, a, { signal: controller.signal });
      for (const promise of [running, waiting]) promise.catch(() => ended++);
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      await expect(waiting).rejects.toBe(reason);
      expect(ended).toBe(2);
      // The op in progress ends on its thread, and later ones do not start.
      while (untyped.asyncPool.running > 0 || untyped.asyncPool.queued > 0) await ms(2);
      expect(codeOf(() => untyped.run(() => {}, { signal: 5 }))).toBe('ERR_TORCH_ARGUMENT');
      a.dispose();
      settled();
    });
  });

  it('a memory limit: garbage is collected, and the op is retried', async () => {
    const limit = torch.getMemoryLimit();
    try {
      settled();
      torch.setMemoryLimit(torch.memory().allocatedBytes + 24 * 2 ** 20);
      for (let i = 0; i < 40; i++) {
        const t = await untyped.async.ones([2 ** 20]); // 4 MiB, dropped at once
        expect(t.numel).toBe(2 ** 20);
      }
      const error = await failure(untyped.async.ones([2 ** 24]));
      expect(error.code).toBe('ERR_TORCH_MEMORY_LIMIT');
    } finally {
      torch.setMemoryLimit(limit);
      settled();
    }
  });
});

describe('errors thrown by the function', () => {
  it('pass through unchanged, whatever they are', async () => {
    await balancedAsync(async () => {
      for (const reason of [null, undefined, 5, 'text', Object.freeze(new Error('frozen'))]) {
        const thrower = () => {
          throw reason;
        };
        for (const fn of [thrower, async () => thrower()]) {
          await expect(untyped.run(fn).catch((error: unknown) => [error])).resolves.toEqual([reason]);
        }
      }
    });
  });

  it('a result that throws on property access rejects, also one of an async function', async () => {
    const result = () => ({
      get bad() {
        throw new RangeError('mine');
      },
    });
    await expect(untyped.run(result)).rejects.toThrow('mine');
    await expect(untyped.run(async () => result())).rejects.toThrow('mine');
  });

  it('errors point to the line in the function that is at fault, and to the call of an op that failed later', async () => {
    const x = torch.ones([2]);
    let there = new Error();
    const early = await failure(
      untyped.run((t: any) => {
        there = new Error();
        return t.add(x, 'x');
      }),
    );
    const frame = (error: Error) => error.stack!.split('\n').find((line) => /^ +at /.test(line))!;
    const lineOf = (error: Error) => Number(/faults\.test\.ts:(\d+)/.exec(frame(error))?.[1]);
    expect([early.code, lineOf(early)]).toEqual(['ERR_TORCH_OVERLOAD', lineOf(there) + 1]);
    const late = await failure(untyped.run((t: any) => t.mm(x, x)));
    expect([late.code, frame(late)]).toEqual(['ERR_TORCH_RUNTIME', expect.stringContaining(__filename)]);
    x.dispose();
  });
});

describe('results', () => {
  it('frozen objects and properties without a setter are refused before anything runs', async () => {
    await balancedAsync(async () => {
      const out = torch.zeros([2]);
      const cases: ((p: unknown) => unknown)[] = [
        (p) => Object.freeze({ loss: p }),
        (p) => Object.freeze([p]),
        (p) => new Map([['a', [Object.freeze({ loss: p })]]]),
        (p) => Object.defineProperty({}, 'loss', { value: p }),
        (p) => ({
          get loss() {
            return p;
          },
        }),
      ];
      for (const make of cases) {
        const write = (t: any) => {
          t.add(out, 1, { out });
          return make(t.ones([2]));
        };
        for (const fn of [write, async (t: any) => write(t)]) {
          const { code, message } = await failure(untyped.run(fn));
          expect([code, message]).toEqual([
            'ERR_TORCH_ARGUMENT',
            expect.stringMatching(/'(loss|0)' with a pending tensor/),
          ]);
        }
      }
      class Held {
        constructor(readonly held: unknown) {}
        get [torch.tensors]() {
          return [this.held];
        }
      }
      const inside = await failure(untyped.run((t: any) => new Held(t.ones([2]))));
      expect([inside.code, inside.message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringMatching(/Held/)]);
      const given = await untyped.run(() => new Held(out)); // not pending
      const own: any = new Held(null);
      own.held = own; // a class may hold itself
      expect(await untyped.run(() => own)).toBe(own);
      expect(given.held).toBe(out);
      const key = Symbol('key');
      const keyed = await untyped.run((t: any) => ({ [key]: t.ones([2]) }));
      expect(keyed[key].toArray()).toEqual([1, 1]);
      keyed[key].dispose();
      expect(torch.scope(() => out.toArray())).toEqual([0, 0]);
      // A setter, and a frozen object without pending tensors, are fine.
      const holder = {
        held: null as any,
        set loss(value: any) {
          this.held = value;
        },
        get loss() {
          return this.held;
        },
      };
      const result = await untyped.run((t: any) => {
        holder.loss = t.ones([2]);
        return { holder, plain: Object.freeze([1, 2]) };
      });
      expect([result.holder, holder.held.shape, result.plain]).toEqual([holder, [2], [1, 2]]);
      torch.disposeAll([out, holder.held]);
    });
  });

  it('maps and sets keep their order, and keys are replaced too', async () => {
    await torch.scope(async () => {
      const { set, map } = await untyped.run((t: any) => {
        const [a, b] = [t.zeros([1]), t.ones([1])];
        return {
          set: new Set([a, 'x', b, a]),
          map: new Map<unknown, unknown>([
            ['first', a],
            [b, 'second'],
            ['third', 3],
          ]),
        };
      });
      expect([...set].map((value: any) => value.numel ?? value)).toEqual([1, 'x', 1]);
      expect([...map.keys()].map((key: any) => key.numel ?? key)).toEqual(['first', 1, 'third']);
      expect(map.get('first')).toBe([...set][0]);
    });
  });

  it('of another run, ended or running, are refused', async () => {
    await balancedAsync(async () => {
      let kept: any;
      await untyped.run((t: any) => {
        kept = [t.zeros([3]), t.promoteTypes('int64', 'float32')];
        return 1;
      });
      for (const old of kept) {
        const error = await failure(
          untyped.run((t: any) => {
            t.ones([5]);
            return { old };
          }),
        );
        expect([error.code, error.message]).toEqual(['ERR_TORCH_PENDING', expect.stringMatching(/of another run/)]);
      }
      const outer = untyped.run(async (t: any) => {
        const p = t.ones([2]);
        expect((await failure(untyped.run(() => [p]))).code).toBe('ERR_TORCH_PENDING');
        return p;
      });
      (await outer).dispose();
      settled();
    });
  });
});

describe('aborting an op that writes', () => {
  it('rejects after the op in progress has ended, so that a partial write is never visible', async () => {
    await torch.scope(async () => {
      const a = torch.ones([800, 800]);
      const out = torch.zeros([800, 800]);
      const controller = new AbortController();
      const running = untyped.run(
        (t: any) => {
          // So much work that it still runs when this thread checks, however late.
          for (let i = 0; i < 20_000; i++) {
            t.mm(a, a, { out });
            t.relu_(out);
            t.add(out, 1, { out });
          }
        },
        { signal: controller.signal },
      );
      running.catch(() => {});
      await until(() => untyped.asyncPool.running > 0);
      controller.abort(new Error('enough'));
      await expect(running).rejects.toThrow('enough');
      const [least, most] = [out.min().item(), out.max().item()];
      expect(least).toBe(most);
      expect([0, 800, 801]).toContain(least);
      await until(() => untyped.asyncPool.running === 0);
      expect(out.max().item()).toBe(least);
    });
  });

  it('the writes are accounted for: bytes are exact, warnings arrive', async () => {
    await balancedAsync(async () => {
      const [x, out] = [torch.ones([300, 300]), torch.ones([0])];
      const controller = new AbortController();
      const before = counts().bytes;
      const running = untyped.run(
        (t: any) => {
          t.add(x, 1, { out });
          let y = t.mm(x, x);
          for (let i = 0; i < 20_000; i++) y = t.mm(y, x);
          return y;
        },
        { signal: controller.signal },
      );
      running.catch(() => {});
      await until(() => out.storageBytes > 0);
      controller.abort();
      expect((await failure(running)).name).toBe('AbortError');
      expect(counts().bytes - before).toBe(300 * 300 * 4);
      expect(torch.scope(() => [out.min().item(), out.max().item()])).toEqual([2, 2]);
      torch.disposeAll([x, out]);
    });
  });

  it('the writes of a function that fails, and to a view that is unreachable, are accounted for', async () => {
    await balancedAsync(async () => {
      const x = torch.ones([2]);
      const before = counts().bytes;
      const failed = untyped.run(async (t: any) => {
        await t.squeeze(x).resize_([1000]).add_(1).numel;
      });
      await failed.catch(() => {});
      await untyped.run((t: any) => {
        t.squeeze(x).resize_([1000]);
      });
      expect([x.storageBytes, counts().bytes - before]).toEqual([4000, 3992]);
      x.dispose();
      settled();
    });
  });

  it('a function that continues after the abort gets its reason', async () => {
    const controller = new AbortController();
    let seen: unknown;
    const running = untyped.run(
      async (t: any) => {
        controller.abort(new Error('enough'));
        await ms(1);
        try {
          t.ones([1]);
        } catch (error) {
          seen = error;
        }
        return t.ones([1]);
      },
      { signal: controller.signal },
    );
    await expect(running).rejects.toThrow('enough');
    await until(() => seen !== undefined);
    expect(seen).toBe(controller.signal.reason);
    settled();
  });
});

describe('no unhandled rejections and no warnings', () => {
  it('one signal for many calls, and rejections that are handled', async () => {
    const seen = await ask(`
      const failure = (promise) => promise.then(() => 'none', (error) => error.code ?? error.message);
      (async () => {
        const a = torch.ones([2]);
        const { signal } = new AbortController();
        await Promise.all(Array.from({ length: 50 }, () => torch.async.add(a, 1, { signal })));
        const controller = new AbortController();
        const aborted = Array.from({ length: 20 }, () => failure(torch.async.add(a, 1, { signal: controller.signal })));
        controller.abort(new Error('enough'));
        const seen = [...new Set(await Promise.all(aborted))];
        // Waiting for a result, and for a promise that rejects later.
        const late = new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 20));
        const waiting = new AbortController();
        const both = [failure(torch.async.add(late, 1, { signal: waiting.signal })),
          failure(torch.run(async (t) => t.add(a, await t.mm(a, a).sum().item())))];
        waiting.abort(new Error('waiting'));
        seen.push(...await Promise.all(both));
        seen.push(await failure(torch.async.add(Promise.reject(new Error('first')), 1, { signal: AbortSignal.abort(new Error('never')) })));
        await new Promise((resolve) => setTimeout(resolve, 50));
        answer(seen);
      })();
    `);
    expect(seen).toEqual(['enough', 'waiting', 'ERR_TORCH_RUNTIME', 'never']);
  });

  it("after the process's exit event calls reject, waiting ones too", async () => {
    const { code, answer } = await program(`
      const failure = (promise) => promise.then(() => 'none', (error) => [error.code, /process is ending/.test(error.message)]);
      const a = torch.ones([800, 800]);
      torch.asyncPool.threads = 1;
      const outcome = (promise) => promise.then((product) => (product.dispose(), 'ran'), () => 'dropped');
      // So many that the last ones are still waiting at the exit, however late.
      const all = Array.from({ length: 2000 }, () => outcome(torch.async.mm(a, a)));
      const waiting = failure(torch.async.mm(a, a));
      const next = failure(torch.run((t) => t.mm(a, a)));
      process.emit('exit', 0);
      (async () => {
        const ends = (await Promise.all(all)).join(' ');
        answer([/^(ran )*dropped( dropped)*$/.test(ends), await waiting, await next, await failure(torch.async.mm(a, a))]);
      })();
    `);
    expect(code).toBe(0);
    const ended = ['ERR_TORCH_RUNTIME', true];
    expect(answer).toEqual([true, ended, ended, ended]);
  });
});
