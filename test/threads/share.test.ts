/** Tokens within one thread: accepted tensors, refusals, lifetimes. */
import { ask } from '../support/child';
import { balanced, codeOf, counts, torch, untyped } from '../support/torch';
import { PATIENCE_MS } from './prelude';

const NATIVE = require.resolve('libtorch-node').replace(/index\.js$/, 'addon/native.js');

/** Waits until unreachable tokens are freed; V8 frees their memory in the background after a collection. */
const UNTIL = `
  const until = async (done) => {
    const limit = Date.now() + ${PATIENCE_MS};
    while (!done() && Date.now() < limit) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
    return done();
  };
`;

describe('a token', () => {
  test('gives a tensor on the same memory, counted once', () => {
    balanced(() =>
      torch.scope(() => {
        const t = torch.arange(6, { dtype: 'float32' }).view([2, 3]);
        const before = counts();
        using token = t.share();
        expect(counts()).toEqual(before);
        const u = torch.fromShared(token);
        expect(counts()).toEqual({ ...before, tensors: before.tensors + 1 });
        expect([u.shape, u.dtype, u.strides]).toEqual([[2, 3], 'float32', [3, 1]]);
        u.fill_(7);
        expect(t.sum().item()).toBe(42);
      }),
    );
  });

  test('is cloneable, and the clone is a plain object that also works', () => {
    const t = torch.ones([3]);
    const token = t.share();
    const clone = structuredClone({ deep: [token] }).deep[0]!;
    expect(Object.prototype.toString.call(clone.shared)).toBe('[object SharedArrayBuffer]');
    expect(clone).not.toBeInstanceOf(torch.SharedToken);
    expect(Object.keys(clone)).toEqual(['shared']);
    expect(torch.fromShared(clone).sum().item()).toBe(3);
    expect(torch.fromShared(clone).sum().item()).toBe(3);
    token.dispose();
  });

  test('keeps the tensor if the sender disposes its own', () => {
    const t = torch.ones([3]);
    using token = t.share();
    t.dispose();
    expect(torch.fromShared(token).sum().item()).toBe(3);
  });

  test('is useless once disposed, in all copies; tensors taken before stay', () => {
    const token = torch.ones([3]).share();
    const clone = structuredClone(token);
    const taken = torch.fromShared(token);
    const { tokens } = torch.memory();
    token.dispose();
    token.dispose();
    expect(torch.memory().tokens).toBeLessThan(tokens); // V8 may free tokens of earlier tests at any time
    expect(codeOf(() => torch.fromShared(token))).toBe('ERR_TORCH_SHARED');
    expect(codeOf(() => torch.fromShared(clone))).toBe('ERR_TORCH_SHARED');
    expect(taken.sum().item()).toBe(3);
  });

  test('gives a tensor that belongs to the scope in which it is taken', () => {
    using token = torch.ones([3]).share();
    balanced(() => torch.scope(() => void torch.fromShared(token)));
  });

  test('has metadata, version and gradients of its own', () => {
    const t = torch.ones([2, 3], { requiresGrad: true });
    using token = t.share();
    const u = torch.fromShared(token);
    expect(u.requiresGrad).toBe(true);
    u.mul(2).sum().backward();
    expect(u.grad!.sum().item()).toBe(12);
    expect(t.grad).toBeNull();
    u.requiresGrad = false;
    u.squeeze_().unsqueeze_(0);
    expect([t.shape, t.requiresGrad]).toEqual([[2, 3], true]);
    // A saved tensor is checked against the version of its own thread's changes.
    const loss = t.pow(2).sum();
    u.detach().add_(1);
    loss.backward();
    expect(t.grad!.shape).toEqual([2, 3]);
  });

  test.each([
    ['a view', () => torch.arange(10).slice(0, 2, 8, 2), [2, 4, 6]],
    ['a number', () => torch.tensor(5n), 5],
    ['no elements', () => torch.empty([0, 3]), []],
    ['bool', () => torch.tensor([true, false]), [true, false]],
    ['complex', () => torch.real(torch.ones([1], { dtype: 'complex64' })), [1]],
    ['a conjugated view', () => torch.imag(torch.ones([1], { dtype: 'complex64' }).conj()), [-0]],
  ])('carries %s', (_, make, expected) => {
    using token = make().share();
    expect(torch.fromShared(token).toArray()).toEqual(expected);
  });

  test('carries sparse tensors and tensors without data', () => {
    for (const t of [torch.eye(3).toSparse(), torch.eye(3).toSparseCsr()]) {
      using token = t.share();
      const u = torch.fromShared(token);
      expect(u.layout).toBe(t.layout);
      expect(u.toDense().sum().item()).toBe(3);
    }
    using token = torch.empty([5], { device: 'meta' }).share();
    expect(torch.fromShared(token).device).toBe('meta');
  });

  test('of an inference tensor gives an inference tensor', () => {
    const t = torch.inferenceMode(() => torch.ones([2]));
    using token = t.share();
    const u = torch.fromShared(token);
    expect(u.isInference()).toBe(true);
    expect(u.add(1).sum().item()).toBe(4);
  });

  test('pins the size of the storage, as PyTorch does for shared memory', () => {
    const t = torch.ones([10]);
    using token = t.share();
    expect(t.resize_([5]).shape).toEqual([5]);
    expect(codeOf(() => t.resize_([1000]))).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => torch.fromShared(token).resize_([1000]))).toBe('ERR_TORCH_RUNTIME');
  });
});

describe('refused, with ERR_TORCH_SHARED or ERR_TORCH_ARGUMENT', () => {
  test('tensors computed with gradients', () => {
    const y = torch.ones([2], { requiresGrad: true }).mul(2);
    expect(codeOf(() => y.share())).toBe('ERR_TORCH_SHARED');
    expect(() => y.share()).toThrow(/detach/);
    using token = y.detach().share();
    expect(torch.fromShared(token).sum().item()).toBe(4);
  });

  test('memory of a typed array, also through a view', () => {
    const t = torch.fromTypedArray(new Float32Array(4));
    for (const borrowed of [t, t.slice(0, 1, 2), t.view([2, 2]).t()]) {
      expect(codeOf(() => borrowed.share())).toBe('ERR_TORCH_SHARED');
      expect(() => borrowed.share()).toThrow(/clone/);
    }
  });

  test('a disposed tensor', () => {
    const t = torch.ones([1]);
    t.dispose();
    expect(codeOf(() => t.share())).toBe('ERR_TORCH_DISPOSED');
  });

  test.each([
    [undefined],
    [null],
    [{}],
    [5],
    [{ shared: new ArrayBuffer(16) }],
    [{ shared: new Uint8Array(16) }],
    [new SharedArrayBuffer(16)],
  ])('%p for a token', (value) => {
    expect(codeOf(() => untyped.fromShared(value))).toBe('ERR_TORCH_ARGUMENT');
  });

  test('memory that only resembles a token', () => {
    const token = torch.ones([3]).share();
    const forged = new SharedArrayBuffer(16);
    expect(codeOf(() => torch.fromShared({ shared: forged }))).toBe('ERR_TORCH_SHARED');
    new Uint8Array(forged).set(new Uint8Array(token.shared));
    expect(codeOf(() => torch.fromShared({ shared: forged }))).toBe('ERR_TORCH_SHARED');
    expect(codeOf(() => torch.fromShared({ shared: new SharedArrayBuffer(8) }))).toBe('ERR_TORCH_SHARED');
    // The right memory with a wrong number in it.
    const id = new Float64Array(token.shared)[1]!;
    for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 60, id + 1]) {
      new Float64Array(token.shared)[1] = wrong;
      expect(codeOf(() => torch.fromShared(token))).toBe('ERR_TORCH_SHARED');
    }
    new Float64Array(token.shared)[1] = id;
    expect(torch.fromShared(token).sum().item()).toBe(3);
    token.dispose();
  });
});

describe('in a separate process', () => {
  test('a token that is never taken is freed', async () => {
    const { before, made, freed, after } = await ask(
      `${UNTIL}
      (async () => {
        const figures = () => { const { tensors, storages, bytes, allocatedBytes, tokens } = torch.memory(); return { tensors, storages, bytes, allocatedBytes, tokens }; };
        const before = figures();
        let held = torch.scope(() => Array.from({ length: 100 }, () => torch.ones([1000]).share()));
        const made = { ...figures(), held: held.length };
        held = undefined;
        const freed = await until(() => torch.memory().tokens === 0);
        answer({ before, made, freed, after: figures() });
      })();
    `,
      ['--expose-gc'],
    );
    expect(made).toEqual({ ...before, tokens: 100, held: 100, allocatedBytes: before.allocatedBytes + 400_000 });
    expect(freed).toBe(true);
    expect(after).toEqual(before);
  });

  test('an unread message holds it until its port is closed', async () => {
    const { held, freed } = await ask(
      `${UNTIL}
      const { MessageChannel } = require('node:worker_threads');
      (async () => {
        let { port1, port2 } = new MessageChannel();
        (() => torch.scope(() => port1.postMessage(torch.ones([1000]).share())))();
        for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
        const held = torch.memory().tokens;
        port1.close();
        port2.close();
        port1 = port2 = undefined;
        answer({ held, freed: await until(() => torch.memory().tokens === 0) });
      })();
    `,
      ['--expose-gc'],
    );
    expect({ held, freed }).toEqual({ held: 1, freed: true });
  });

  test('4,000 × 1 MiB shared in one synchronous loop do not accumulate', async () => {
    const { peak, tokens } = await ask(`
      let peak = 0;
      for (let i = 0; i < 4000; i++) {
        torch.scope(() => { torch.zeros([1 << 18]).share(); });
        if (i % 50 === 0) peak = Math.max(peak, torch.memory().allocatedBytes);
      }
      answer({ peak: peak / 2 ** 20, tokens: torch.memory().tokens });
    `);
    expect(peak).toBeLessThan(512);
    expect(tokens).toBeLessThan(512);
  });

  test("without V8's support a token lives until it is taken", async () => {
    const { first, second, made, left } = await ask(`
      const { native } = require(${JSON.stringify(NATIVE)});
      const shared = new SharedArrayBuffer(16);
      const id = torch.scope(() => native.share(torch.ones([4])._handle, shared, false, 0));
      const made = torch.memory().tokens;
      const take = () => { try { return torch.fromShared({ shared }).sum().item(); } catch (error) { return error.code; } };
      new BigUint64Array(shared)[0] = 0x6c746e7368617265n;
      new Float64Array(shared)[1] = id;
      answer({ made, first: take(), second: take(), left: torch.memory().tokens });
    `);
    expect({ made, first, second, left }).toEqual({ made: 1, first: 4, second: 'ERR_TORCH_SHARED', left: 0 });
  });
});
