/** torch.run with functions written for synchronous use: their calls are recorded, or refused with a reason. */
import { until } from '../support/async';
import { balancedAsync, codeOf, settled, torch, untyped } from '../support/torch';

const F = untyped.nn.functional;

const failure = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => new Error('it resolved'),
    (error) => error,
  );

/** The network of examples/convnet.ts. */
function convnet() {
  const [first, second, last] = [torch.randn([8, 1, 5, 5]), torch.randn([16, 8, 5, 5]), torch.randn([10, 256])];
  return (images: any) => {
    const wide = F.maxPool2d(untyped.conv2d(images, first).relu(), 2);
    const deep = F.maxPool2d(untyped.conv2d(wide, second).relu(), 2);
    return F.linear(deep.flatten(1), last);
  };
}

/** A decoder of one block, as in examples/attention.ts and nanoGPT: it reads shapes and destructures lists. */
function decoder() {
  const [features, heads, letters, places] = [16, 4, torch.randn([20, 16]), torch.randn([12, 16])];
  const [qkv, out, wide, narrow] = [
    torch.randn([48, 16]),
    torch.randn([16, 16]),
    torch.randn([64, 16]),
    torch.randn([16, 64]),
  ];
  return (lines: any) => {
    const [batch, length] = lines.shape;
    const x = F.embedding(lines, letters).add(places.narrow(0, 0, length));
    const normal = F.layerNorm(x, [features]);
    const parts = F.linear(normal, qkv).chunk(3, -1);
    const [q, k, v] = parts.map((part: any) => part.view([batch, length, heads, features / heads]).transpose(1, 2));
    const future = untyped.ones([length, length]).triu(1).to('bool');
    const scores = q.matmul(k.transpose(-2, -1)).div(Math.sqrt(q.size(-1)));
    const seen = scores.maskedFill(future, Number.NEGATIVE_INFINITY).softmax(-1).matmul(v);
    const mixed = F.linear(seen.transpose(1, 2).contiguous().view([batch, length, features]), out);
    const y = x.add(mixed);
    return F.linear(F.gelu(F.linear(y, wide)), narrow)
      .add_(y)
      .matmul(letters.t());
  };
}

describe('an unchanged forward', () => {
  it('of a convolutional network and of a decoder gives the same bits', async () => {
    torch.manualSeed(5);
    await torch.scope(async () => {
      const cases: [(x: any) => any, any][] = [
        [convnet(), torch.randn([3, 1, 28, 28])],
        [decoder(), torch.randint(20, [2, 12])],
      ];
      for (const [forward, x] of cases) {
        const here = forward(x);
        const there: any = await torch.run(() => forward(x));
        expect(there.shape).toEqual(here.shape);
        expect(Buffer.from(there.toTypedArray().buffer).equals(Buffer.from(here.toTypedArray().buffer))).toBe(true);
        const quiet: any = await torch.run(() => torch.noGrad(() => torch.scope(() => forward(x))));
        expect(untyped.equal(quiet, here)).toBe(true);
      }
    });
  });

  it('does not hold the event loop', async () => {
    await torch.scope(async () => {
      await until(() => untyped.asyncPool.running + untyped.asyncPool.queued === 0);
      const [x, w, enough] = [torch.ones([700, 700]), torch.eye(700), new AbortController()];
      const forward = (y: any) => {
        let z = y;
        for (let i = 0; i < 20_000; i++) z = z.matmul(w).relu();
        return z;
      };
      let turns = 0;
      const running = torch.run(() => forward(x), { signal: enough.signal });
      running.catch(() => {});
      await until(() => untyped.asyncPool.running === 1);
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      for (; turns < 50; turns++) await turn();
      expect([turns, untyped.asyncPool.running]).toEqual([50, 1]);
      enough.abort();
      await expect(running).rejects.toThrow();
    });
  });

  it('trains like synchronous code, with loss.backward() inside', async () => {
    torch.manualSeed(6);
    await torch.scope(async () => {
      const [x, w, labels] = [torch.randn([8, 4]), torch.randn([3, 4]), torch.randint(3, [8])];
      const gradient = async (step: (loss: () => any) => unknown) => {
        w.grad = null;
        w.requiresGrad = true;
        await step(() => F.crossEntropy(F.linear(x, w), labels));
        return w.grad!.toArray();
      };
      const here = await gradient((loss) => loss().backward());
      const there = await gradient((loss) => untyped.run(() => loss().backward()));
      expect(there).toEqual(here);
    });
  });

  it('leaks nothing, also if it fails, and inputs may be disposed meanwhile', async () => {
    await balancedAsync(async () => {
      const x = torch.ones([3]);
      const sum = torch.run(() => untyped.add(x, 1).sum());
      await expect(torch.run(() => [untyped.add(x, 1), untyped.mm(x, x)])).rejects.toMatchObject({ op: 'aten::mm' });
      const mine = new Error('mine');
      const thrown = torch.run(() => {
        x.add(1);
        throw mine;
      });
      expect(await failure(thrown)).toBe(mine);
      x.dispose();
      const result = await sum;
      expect(result.item()).toBe(6);
      result.dispose();
      const after = torch.ones([1]); // recording has ended
      expect(after.item()).toBe(1);
      after.dispose();
      settled();
    });
  });
});

describe('properties known in advance', () => {
  it('shapes and dtypes are those of the results', async () => {
    await torch.scope(async () => {
      const x = torch.ones([2, 6]);
      const calls: ((t: any) => any)[] = [
        (t) => t.add(1),
        (t) => t.to('float64').t(),
        (t) => t.argmax(1),
        (t) => t.gt(0),
        (t) => t.reshape([3, -1]).unsqueeze(0),
        (t) => t.split(4, 1)[1],
        (t) => t.unbind(0)[1],
        (t) => t.max(1, true).values,
        (t) => untyped.cat([t, t], 1),
        (t) => untyped.where(t.gt(0), t, untyped.zeros([2, 6], { dtype: 'float64' })),
        (t) => F.layerNorm(t, [6]).relu(),
        (t) => t.clone().unsqueeze_(0),
        (t) => t.at(0, null),
        (t) => [...t][0],
      ];
      for (const call of calls) {
        let known: unknown;
        const real: any = await torch.run(() => {
          const pending = call(x);
          known = [pending.shape, pending.dtype, pending.ndim, pending.numel, pending.device, pending.size(0) ?? null];
          return pending;
        });
        expect(known).toEqual([real.shape, real.dtype, real.ndim, real.numel, real.device, real.shape[0]]);
      }
    });
  });

  it('are known of the results of a list without tensors', async () => {
    await torch.scope(async () => {
      const none = torch.zeros([0, 3]);
      const calls: ((t: any) => any)[] = [
        (t) => t.unbind(0),
        (t) => [...t],
        (t) => t.mul(2).unbind(),
        (t) => untyped.unbind(untyped.add(t, 1)).map((row: any) => row.relu()),
        () => untyped.atleast1d([]),
        () => untyped.broadcastTensors([]),
      ];
      for (const call of calls) {
        let known: unknown;
        const list: any = await torch.run(() => {
          const pending = call(none);
          known = pending.length;
          return pending;
        });
        expect([call.toString(), known, list]).toEqual([call.toString(), 0, call(none)]);
      }
      // An empty list does not hide refusals of the op.
      await expect(torch.run(() => untyped.unbind(none, 5))).rejects.toMatchObject({ op: 'aten::unbind.int' });
    });
  });

  it('where shapes do not fit, a read says which op fails, and the op’s error comes where nothing is read', async () => {
    const forward = (x: any, w: any) => x.matmul(w).add(1);
    await torch.scope(async () => {
      const [x, w] = [torch.ones([2, 4]), torch.ones([3, 3])];
      for (const read of [
        (y: any) => y.shape,
        (y: any) => y.ndim,
        (y: any) => y.sum(0).at(0),
        (y: any) => [...y.relu()],
      ]) {
        const error: any = await torch.run(() => read(forward(x, w))).catch((error: unknown) => error);
        expect([read.toString(), error.code, error.message]).toEqual([
          read.toString(),
          'ERR_TORCH_PENDING',
          expect.stringMatching(
            /for shapes like these it fails \(aten::matmul: mat1 and mat2 shapes cannot be multiplied \(2x4 and/,
          ),
        ]);
      }
      await expect(torch.run(() => forward(x, w))).rejects.toMatchObject({ op: 'aten::matmul' });
      expect(
        (
          await torch.run(() =>
            forward(x, torch.ones([4, 3]))
              .sum(0)
              .at(0),
          )
        ).item(),
      ).toBe(10);
    });
  });

  it('reads that depend on the elements are refused, in and out of lists', async () => {
    await torch.scope(async () => {
      const x = torch.ones([2, 3]);
      const rows = await torch.run(() => {
        const found = untyped.nonzero(x);
        expect(codeOf(() => found.shape)).toBe('ERR_TORCH_PENDING');
        expect(codeOf(() => untyped.unbind(found, 0))).toBe('ERR_TORCH_PENDING');
        expect(codeOf(() => [...found])).toBe('ERR_TORCH_PENDING');
        return found;
      });
      expect((rows as any).shape).toEqual([6, 2]);
    });
  });
});

describe('values', () => {
  it('of a pending tensor are promises, which operators refuse', async () => {
    await torch.scope(async () => {
      const x = torch.ones([2]);
      const uses: ((t: any) => unknown)[] = [
        (t) => t.sum().item() > 0.5,
        (t) => [1, 2, 3][t.argmax().item()],
        (t) => 1 + t.sum().item(),
        (t) => `${t.sum().item()}`,
        (t) => Math.max(t.sum().item(), 0),
        (t) => JSON.stringify(t.toArray()),
        (t) => [...t.toArray()],
        (t) => untyped.equal(t, t),
        (t) => untyped.allclose(t, x),
        (t) => -t.isNonzero(),
        () => untyped.equal(x, x),
      ];
      for (const use of uses) {
        const error = await failure(torch.run(() => use(x.add(1))));
        expect([use.toString(), error.code]).toEqual([use.toString(), 'ERR_TORCH_PENDING']);
        expect(error.message).toMatch(/await/);
      }
    });
  });

  it('that were not awaited reject the run, because the function may have taken the wrong branch', async () => {
    await torch.scope(async () => {
      const [x, out] = [torch.ones([2]), torch.zeros([2])];
      const wrong = (t: any) => {
        const p = x.add(1);
        if (p.equal(x)) return t.add(x, 1, { out });
        return p;
      };
      for (const fn of [wrong, async (t: any) => wrong(t)]) {
        const error = await failure(untyped.run(fn));
        expect([error.code, error.message]).toEqual(['ERR_TORCH_PENDING', expect.stringMatching(/await …equal\(…\)/)]);
      }
      expect(out.toArray()).toEqual([0, 0]);
      const right = await untyped.run(async (t: any) => ((await t.equal(x, x.add(1))) ? 'same' : x.add(1)));
      expect(right.toArray()).toEqual([2, 2]);
      expect(await untyped.run(() => ({ sum: x.add(1).sum().item(), all: x.add(1).toArray() }))).toEqual({
        sum: 4,
        all: [2, 2],
      });
    });
  });

  it('of existing tensors are read at once, unless waiting ops write to them', async () => {
    await torch.scope(async () => {
      const [x, w] = [torch.ones([2]), torch.ones([2])];
      w.requiresGrad = true;
      const seen = await torch.run(() => [x.at(0).shape, x.toArray(), x.sum().shape]);
      expect(seen).toEqual([[], [1, 1], []]);
      await torch.run(() => {
        expect(x.select(0, 0).shape).toEqual([]);
        (x as any).add_(1);
        w.mul(x).sum().backward();
        for (const read of [() => x.toArray(), () => String(x), () => w.grad, () => (w.grad = null)]) {
          expect([read.toString(), codeOf(read)]).toEqual([read.toString(), 'ERR_TORCH_PENDING']);
        }
        expect(x.shape).toEqual([2]);
        (x as any).unsqueeze_(0);
        expect(codeOf(() => x.shape)).toBe('ERR_TORCH_PENDING');
      });
      expect([x.toArray(), w.grad!.toArray()]).toEqual([[[2, 2]], [2, 2]]);
    });
  });
});

describe('an async function', () => {
  it('is recorded after an await as before', async () => {
    await balancedAsync(async () => {
      const x = torch.ones([2]);
      const elsewhere: any[] = [];
      const pending = untyped.run(async () => {
        const first = x.add(1);
        expect(await first.sum().item()).toBe(4);
        const second: any = x.add(first);
        expect(second.toString()).toBe('Tensor { pending }');
        await new Promise((resolve) => setTimeout(resolve, 1));
        return second.mul(x.add(0));
      });
      for (let i = 0; i < 20; i++) {
        elsewhere.push(x.add(i)); // other code is not recorded
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(elsewhere.map((t) => t.toArray()[0])).toEqual(elsewhere.map((_, i) => i + 1));
      const result = await pending;
      expect(result.toArray()).toEqual([3, 3]);
      torch.disposeAll([result, x, elsewhere]);
    });
  });

  it('leaves the caller outside the recording, and two do not mix', async () => {
    await torch.scope(async () => {
      const x = torch.ones([1]);
      const chain = (n: number) =>
        untyped.run(async () => {
          let y: any = x.mul(n);
          for (let i = 0; i < 5; i++) y = x.mul(await y.add(1).item());
          return y;
        });
      const all: any[] = await Promise.all([1, 2, 3].map(chain));
      expect(all.map((t) => t.item())).toEqual([6, 7, 8]);
      const nested = await untyped.run(async () => {
        const inner = await torch.run(() => x.add(1));
        return x.add(inner as any);
      });
      expect(nested.item()).toBe(3);
      expect(x.add(1).item()).toBe(2);
    });
  });
});
