/** `allocatedBytes` covers memory without handles: graphs, their temporaries, the work of libtorch's own threads. */
import { ask } from '../support/child';

test('a graph with disposed leaves is still visible, with its bytes, and is freed with its root', async () => {
  const { held, grown, released } = await ask(`
    const SIZE = 250_000, BYTES = 4 * SIZE;
    const start = torch.memory().allocatedBytes;
    const since = () => torch.memory().allocatedBytes - start;
    const a = torch.ones([SIZE], { requiresGrad: true });
    const b = torch.ones([SIZE], { requiresGrad: true });
    const product = a.mul(b);          // keeps a and b
    const power = product.exp();       // keeps its own result
    const root = power.sum();
    const grown = (since() - 4) / BYTES; // a, b, product, power
    for (const t of [a, b, product, power]) t.dispose();
    const held = [torch.memory().bytes, (since() - 4) / BYTES];
    root.dispose();
    answer({ grown, held, released: since() });
  `);
  expect(grown).toBe(4);
  // Handles see the root's 4 bytes; the graph keeps a, b and power, but not the product.
  expect(held).toEqual([4, 3]);
  expect(released).toBe(0);
});

test('gradients without a handle count until their leaf is freed', async () => {
  const { handles, all, released } = await ask(`
    const start = torch.memory().allocatedBytes;
    const leaf = torch.ones([1000], { requiresGrad: true });
    torch.scope(() => { leaf.mul(leaf).sum().backward(); });
    const { bytes, allocatedBytes } = torch.memory();
    leaf.dispose();
    answer({ handles: bytes, all: allocatedBytes - start, released: torch.memory().allocatedBytes - start });
  `);
  expect({ handles, all, released }).toEqual({ handles: 4000, all: 8000, released: 0 });
});

test("a backward that fails halfway leaks nothing: the next one gets the engine's remaining tasks", async () => {
  const { refused, released } = await ask(`
    const start = torch.memory().allocatedBytes;
    let refused;
    torch.scope(() => {
      const a = torch.ones([4, 4], { requiresGrad: true });
      const square = a.mul(a);
      const root = a.mul(a.add(a)).mul(square);
      square.sum().backward();
      try { root.sum().backward({ retainGraph: true }); } catch (error) { refused = error.code; }
    });
    answer({ refused, released: torch.memory().allocatedBytes - start });
  `);
  expect({ refused, released }).toEqual({ refused: 'ERR_TORCH_RUNTIME', released: 0 });
});

test('a backward that fails halfway on a thread of torch.run leaks nothing', async () => {
  const { refused, released } = await ask(`
    const start = torch.memory().allocatedBytes;
    (async () => {
      let refused;
      await torch.scope(async () => {
        const a = torch.ones([4, 4], { requiresGrad: true });
        const square = a.mul(a);
        const root = a.mul(a.add(a)).mul(square);
        await torch.async.backward(square.sum());
        await torch.run((t) => t.backward(root.sum(), { retainGraph: true })).catch((error) => { refused = error.code; });
      });
      answer({ refused, released: torch.memory().allocatedBytes - start });
    })();
  `);
  expect({ refused, released }).toEqual({ refused: 'ERR_TORCH_RUNTIME', released: 0 });
});

test('allocatedBytes returns exactly to its start after ops on several threads and a backward', async () => {
  const { threads, peak, after } = await ask(`
    torch.setNumThreads(2);
    const work = () => torch.scope(() => {
      const x = torch.ones([256, 256], { requiresGrad: true });
      const w = torch.ones([256, 256], { requiresGrad: true });
      for (let i = 0; i < 3; i++) x.matmul(w).tanh().softmax(1).mul(x).sum().backward();
      torch.ones([1 << 20]).sort(0);
      torch.conv2d(torch.ones([4, 3, 64, 64]), torch.ones([8, 3, 3, 3])).sum();
    });
    work(); // libtorch's one-time set-up
    const start = torch.memory().allocatedBytes;
    const after = [];
    for (let i = 0; i < 10; i++) { work(); after.push(torch.memory().allocatedBytes - start); }
    answer({ threads: torch.getNumThreads(), peak: torch.memory().peakAllocatedBytes - start, after });
  `);
  expect(threads).toBe(2);
  expect(peak).toBeGreaterThan(5 * 4 * 256 * 256);
  expect(after).toEqual(Array(10).fill(0));
});
