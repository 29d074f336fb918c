/** torch.setMemoryLimit, and garbage visible only in libtorch's own bytes. In child processes; bytes, never times. */
import { ask } from '../support/child';
import { LIB } from '../support/torch';

const MB = 2 ** 20;

const helpers = `
  const MB = 2 ** 20;
  const codeOf = (fn) => { try { fn(); return 'none'; } catch (error) { return error.code; } };
`;

test('a 2 GiB loop under a limit of 512 MiB finishes', async () => {
  const { peak, made, sum } = await ask(`${helpers}
    torch.setMemoryLimit(512 * MB);
    let made = 0, sum = 0;
    for (let i = 0; i < 64; i++) {
      const t = torch.ones([32 * MB / 4]);
      made += t.nbytes;
      sum += t.at(0).item();
    }
    answer({ peak: torch.memory().peakAllocatedBytes, made, sum });
  `);
  expect(made).toBe(2048 * MB);
  expect(sum).toBe(64);
  expect(peak).toBeLessThanOrEqual(512 * MB);
});

test('a limit just above the need of one step works too: memory is freed inside the op', async () => {
  const { peak, wrong } = await ask(`${helpers}
    // A step holds three tensors of 8 MiB at its peak, and the variable still holds the previous sum.
    torch.setMemoryLimit(32 * MB + 4096);
    let wrong = 0;
    for (let i = 0; i < 200; i++) {
      // The operands are unreachable once their handles are numbers in the call.
      const sum = torch.full([2 * MB], i + 0.5).add(torch.full([2 * MB], i + 0.5));
      if (sum.at(7).item() !== 2 * i + 1 || sum.at(-1).item() !== 2 * i + 1) wrong++;
    }
    answer({ peak: torch.memory().peakAllocatedBytes, wrong });
  `);
  expect(wrong).toBe(0);
  expect(peak).toBeLessThanOrEqual(32 * MB + 4096);
});

test('otherwise unreachable lists of operands survive the collection inside the op', async () => {
  const { wrong } = await ask(`${helpers}
    torch.setMemoryLimit(36 * MB + 4096); // three operands, the result and the one before
    let wrong = 0;
    for (let i = 0; i < 100; i++) {
      const whole = torch.cat([torch.full([MB], 1), torch.full([MB], 2), torch.full([MB], i)]);
      if (whole.at(0).item() !== 1 || whole.at(MB).item() !== 2 || whole.at(-1).item() !== i) wrong++;
    }
    answer({ wrong });
  `);
  expect(wrong).toBe(0);
});

test('tensors in use are not freed: the error names op, bytes and limit, and nothing leaks', async () => {
  const { error, before, after, kept, again } = await ask(`${helpers}
    const kept = torch.full([16 * MB / 4], 3);
    torch.setMemoryLimit(40 * MB);
    const before = torch.memory();
    let error;
    try { torch.cat([kept, kept]); } catch (e) { error = { code: e.code, op: e.op, message: e.message, name: e.name }; }
    const after = torch.memory();
    const sum = kept.at(0).item();
    kept.dispose();
    answer({ error, before, after, kept: sum, again: torch.zeros([32 * MB / 4]).nbytes });
  `);
  expect(error).toMatchObject({ code: 'ERR_TORCH_MEMORY_LIMIT', op: 'aten::cat', name: 'Error' });
  expect(error.message).toContain(`cannot allocate ${32 * MB} bytes: libtorch holds ${16 * MB} bytes`);
  expect(error.message).toContain(`the memory limit is ${40 * MB} bytes`);
  for (const name of ['tensors', 'storages', 'bytes', 'allocatedBytes']) expect(after[name]).toBe(before[name]);
  expect(kept).toBe(3);
  expect(again).toBe(32 * MB);
});

test('scopes, backward, and limits below the current memory', async () => {
  const { scope, backward, below, zero, lifted, limit, left } = await ask(`${helpers}
    const start = torch.memory().allocatedBytes;
    torch.setMemoryLimit(start + 20 * MB);
    // The scope owns all of them, so none can be collected.
    const scope = codeOf(() => torch.scope(() => { for (let i = 0; i < 8; i++) torch.zeros([MB]); }));
    const x = torch.ones([MB], { requiresGrad: true });
    const loss = x.exp().sum();
    torch.setMemoryLimit(torch.memory().allocatedBytes);
    const backward = codeOf(() => loss.backward());
    torch.setMemoryLimit(1);
    const below = codeOf(() => torch.zeros([1]));
    torch.setMemoryLimit(0);
    const zero = codeOf(() => torch.zeros([1]));
    const limit = [torch.getMemoryLimit()];
    torch.setMemoryLimit(null);
    limit.push(torch.getMemoryLimit());
    const lifted = codeOf(() => loss.backward());
    x.dispose(); loss.dispose();
    answer({ scope, backward, below, zero, lifted, limit, left: torch.memory().allocatedBytes - start });
  `);
  expect([scope, backward, below, zero, lifted]).toEqual([
    'ERR_TORCH_MEMORY_LIMIT',
    'ERR_TORCH_MEMORY_LIMIT',
    'ERR_TORCH_MEMORY_LIMIT',
    'ERR_TORCH_MEMORY_LIMIT',
    'none',
  ]);
  expect(limit).toEqual([0, null]);
  expect(left).toBe(0);
});

test('bad limits are refused', async () => {
  const codes = await ask(`${helpers}
    answer([-1, 1.5, NaN, Infinity, '1', undefined, {}].map((bytes) => codeOf(() => torch.setMemoryLimit(bytes))));
  `);
  expect(new Set(codes)).toEqual(new Set(['ERR_TORCH_ARGUMENT']));
});

test('the limit applies to the process: a worker obeys it, and collects its own garbage', async () => {
  const { peak, inside } = await ask(`${helpers}
    const { Worker } = require('node:worker_threads');
    torch.setMemoryLimit(64 * MB);
    const worker = new Worker(\`
      const torch = require(\${JSON.stringify(require.resolve(${JSON.stringify(require.resolve('../../dist/lib/index.js'))}))});
      for (let i = 0; i < 64; i++) torch.zeros([2 ** 20]);
      let code;
      try { torch.zeros([2 ** 25]); } catch (error) { code = error.code; }
      require('node:worker_threads').parentPort.postMessage(code);
    \`, { eval: true });
    worker.on('message', (inside) => answer({ inside, peak: torch.memory().peakAllocatedBytes }));
  `);
  expect(inside).toBe('ERR_TORCH_MEMORY_LIMIT');
  expect(peak).toBeLessThanOrEqual(64 * MB);
});

test('graphs behind small results are garbage too: their bytes trigger the collector', async () => {
  const { peak } = await ask(`${helpers}
    const x = torch.ones([MB], { requiresGrad: true });
    // Each loss is 4 bytes to JavaScript, and keeps 8 MiB of its graph.
    for (let i = 0; i < 1000; i++) torch.scope(() => x.exp().sin().sum());
    answer({ peak: torch.memory().peakAllocatedBytes });
  `);
  expect(peak).toBeLessThan(400 * MB);
});

test('a failed allocation collects and retries: an address space for a few tensors', async () => {
  const { made, code } = await ask(`${helpers}
    const { execFileSync } = require('node:child_process');
    const used = kilobytes('VmSize') * 1024;
    execFileSync('prlimit', ['--pid', String(process.pid), '--as=' + (used + 640 * MB)]);
    let made = 0;
    for (let i = 0; i < 40; i++) made += torch.empty([32 * MB]).nbytes; // 128 MiB each
    const kept = [];
    const code = codeOf(() => { for (;;) kept.push(torch.empty([32 * MB])); });
    torch.disposeAll(kept);
    answer({ made, code });
  `);
  expect(made).toBe(40 * 128 * MB);
  expect(code).toBe('ERR_TORCH_OUT_OF_MEMORY');
});

test('impossible sizes are refused at once', async () => {
  const found = await ask(`${helpers}
    const { native } = require(${JSON.stringify(`${LIB}/addon/native.js`)});
    const held = [torch.ones([1024])]; // where nothing is allocated, nothing is collected
    let collections = 0;
    native.setCollectors(() => { collections++; }, () => {});
    const impossible = [codeOf(() => torch.empty([2 ** 46])), collections];
    torch.setMemoryLimit(torch.memory().allocatedBytes);
    answer({ impossible, limited: [codeOf(() => torch.empty([1024])), collections], held: held.length });
  `);
  expect(found).toMatchObject({ impossible: ['ERR_TORCH_OUT_OF_MEMORY', 0], limited: ['ERR_TORCH_MEMORY_LIMIT', 1] });
});

test('a refused load names the loader, and leaves nothing', async () => {
  const { told, tensors } = await ask(`${helpers}
    const fs = require('node:fs');
    const path = require('node:path');
    const folder = fs.mkdtempSync(path.join(require('node:os').tmpdir(), 'limit-'));
    const at = (name) => path.join(folder, name);
    torch.scope(() => {
      const a = torch.ones([MB]);
      torch.save({ a }, at('a.pt'));
      torch.safetensors.save({ a }, at('a.safetensors'));
      torch.npy.save(a, at('a.npy'));
      torch.npz.save({ a }, at('a.npz'));
    });
    torch.setMemoryLimit(MB);
    const loads = {
      load: () => torch.load(at('a.pt')),
      'safetensors.load': () => torch.safetensors.load(fs.readFileSync(at('a.safetensors'))),
      'safetensors.get': () => torch.safetensors.open(at('a.safetensors')).get('a'),
      'npy.load': () => torch.npy.load(at('a.npy')),
      'npz.load': () => torch.npz.load(at('a.npz')),
      'npy.loadFromStream': () => torch.npy.loadFromStream(fs.createReadStream(at('a.npy'))),
      'safetensors.loadFromStream': () => torch.safetensors.loadFromStream(fs.createReadStream(at('a.safetensors'))),
    };
    (async () => {
      const told = {};
      for (const [name, load] of Object.entries(loads)) {
        try { await load(); } catch (error) { told[name] = [error.code, error.op, error.message, error.stack.includes(name + ': cannot')]; }
      }
      fs.rmSync(folder, { recursive: true });
      answer({ told, tensors: torch.memory().tensors });
    })();
  `);
  const names = Object.keys(told);
  expect(names).toHaveLength(7);
  for (const name of names) {
    const message = expect.stringMatching(`^${name}: cannot allocate ${4 * MB} bytes: .*memory limit is ${MB} bytes`);
    expect([name, ...told[name]]).toEqual([name, 'ERR_TORCH_MEMORY_LIMIT', name, message, true]);
  }
  expect(tensors).toBe(0);
});
