/** Modules of two threads on the same memory. In a child process, where counts are exact. */
import { ask } from '../support/child';
import { balanced, settled, thrown, torch, untyped } from '../support/torch';
import { GC, WORKERS } from '../threads/prelude';

const { nn } = torch;

/** A module with a convolution, buffers and a tied parameter. In each thread. */
const NET = `
  const { nn } = torch;
  class Net extends nn.Module {
    conv = new nn.Conv2d(3, 64, 3);
    norm = new nn.BatchNorm2d(64);
    body = new nn.Sequential(new nn.Linear(256, 256), new nn.ReLU(), new nn.Linear(256, 256));
    constructor() {
      super();
      this.tied = this.body.at(0).weight;
      this.registerBuffer('hidden', torch.rand([1000]), { persistent: false });
    }
  }
  const bits = (net) => [...net.namedParameters(), ...net.namedBuffers()].map(([name, t]) => [name, ...t.toTypedArray()].join());
  const hashOf = (net) => require('node:crypto').createHash('sha1').update(bits(net).join('\\n')).digest('hex');
`;

test('a worker takes a module without a copy, and its memory is counted once and freed', async () => {
  const { before, alone, posted, during, hashes, grads, after } = await ask(
    `${WORKERS}
    ${NET}
    (async () => {
      const before = figures();
      const body = async () => {
        const net = new Net();
        const alone = torch.memory();
        const worker = start(${JSON.stringify(NET)} + \`
          torch.manualSeed(5);
          const net = new Net();
          const optimizer = new torch.optim.SGD(net.parameters(), { lr: 1 });
          const keys = net.loadShared(workerData);
          const memory = torch.memory();
          const taken = hashOf(net);
          parentPort.on('message', (end) => {
            if (end) { net.dispose(); parentPort.close(); return; }
            const seen = hashOf(net);
            torch.scope(() => {
              net.body.forward(torch.ones([1, 256])).sum().backward();
              optimizer.step();
            });
            net.norm.runningMean.fill_(3);
            net.hidden.fill_(4);
            parentPort.postMessage({ seen, left: hashOf(net) });
          });
          parentPort.postMessage({ keys, memory, taken });
        \`, { workerData: net.share() });
        const posted = torch.memory();
        const made = hashOf(net);
        const [{ keys, memory, taken }] = await once(worker, 'message');
        net.body.at(2).weight.detach().fill_(0.5);
        const changed = hashOf(net);
        worker.postMessage(false);
        const [{ seen, left }] = await once(worker, 'message');
        const result = hashOf(net);
        const grads = net.parameters().every((p) => p.grad === null);
        worker.postMessage(true);
        await once(worker, 'exit');
        net.dispose();
        return {
          alone, posted, grads,
          during: { tensors: memory.tensors, storages: memory.storages, bytes: memory.bytes, keys },
          hashes: { made, taken, changed, seen, left, result },
        };
      };
      answer({ before, ...await body(), after: await settled(before) });
    })();
  `,
    GC,
  );
  const floats = 64 * 27 + 64 + 4 * 64 + 2 * (256 * 256 + 256) + 1000;
  expect([alone.tensors, alone.storages, alone.bytes]).toEqual([12, 12, 4 * floats + 8]);
  expect([posted.storages, posted.bytes]).toEqual([12, alone.bytes]);
  expect(during).toEqual({
    tensors: 24,
    storages: 12,
    bytes: alone.bytes,
    keys: { missingKeys: [], unexpectedKeys: [] },
  });
  expect(hashes.taken).toBe(hashes.made);
  expect(hashes.seen).toBe(hashes.changed);
  expect(hashes.result).toBe(hashes.left);
  expect(new Set(Object.values(hashes)).size).toBe(3);
  expect(grads).toBe(true);
  expect(after).toEqual(before);
});

test('a module that no thread takes is freed with its tokens', async () => {
  const { before, after, disposed } = await ask(
    `${WORKERS}
    ${NET}
    (async () => {
      const before = figures();
      { const net = new Net(); net.share(); net.dispose(); }
      const after = await settled(before);
      const net = new Net();
      const shared = net.share();
      net.dispose();
      for (const token of Object.values(shared)) token.dispose();
      answer({ before, after, disposed: figures() });
    })();
  `,
    GC,
  );
  expect(after).toEqual(before);
  expect(disposed).toEqual(before);
});

test('tokens that do not fit are refused, and nothing changes', () => {
  balanced(() => {
    const net = new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3));
    const other = new nn.Sequential(new nn.Linear(2, 4), new nn.BatchNorm1d(4));
    const shared = other.share();
    const before = net.parameters().map((p) => p.toArray());
    const { '1.num_batches_tracked': _, ...given } = { ...shared, '1.bias': 5, extra: shared['0.bias'] } as any;
    const error = thrown(() => net.loadShared(given));
    expect(error.message).toMatch(
      /^loadShared: expected the keys and shapes of Sequential, got tokens that differ:\n {2}missing keys: 1\.num_batches_tracked\n {2}unexpected keys: extra\n {2}0\.weight: expected shape \[3, 2\], got \[4, 2\]\n/,
    );
    expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'loadShared', argument: 'shared' });
    expect(error.message).toContain('1.bias: expected a token, got 5');
    shared['0.bias']!.dispose();
    expect(thrown(() => other.loadShared(shared)).code).toBe('ERR_TORCH_SHARED');
    expect(net.parameters().map((p) => p.toArray())).toEqual(before);
    for (const wrong of [null, 5, [], shared['0.weight'], net.parameters()[0]]) {
      expect(thrown(() => untyped.nn.Module.prototype.loadShared.call(net, wrong))).toMatchObject({
        code: 'ERR_TORCH_ARGUMENT',
        argument: 'shared',
      });
    }
    const lazy = new nn.LazyLinear(3);
    expect(thrown(() => lazy.share()).message).toMatch(
      /^share: expected parameters with a shape, got 'weight' of LazyLinear before its first forward/,
    );
    lazy.dispose();
    for (const token of Object.values(shared)) token.dispose();
    net.dispose();
    other.dispose();
  });
});

test('loadShared takes dtypes, shapes of lazy modules, and with strict: false a part', () => {
  using half = new nn.Linear(2, 3).half();
  using lazy = new nn.LazyLinear(3);
  lazy.loadShared(half.share());
  half.weight.detach().fill_(2);
  expect([lazy.weight.dtype, lazy.weight.shape, lazy.weight.requiresGrad]).toEqual(['float16', [3, 2], true]);
  expect(lazy.weight.sum().item()).toBe(12);
  using plain = new nn.Linear(2, 3);
  const { weight } = half.share();
  expect(plain.loadShared({ weight: weight!, other: weight! }, { strict: false })).toEqual({
    missingKeys: ['bias'],
    unexpectedKeys: ['other'],
  });
  expect([plain.weight.sum().item(), plain.bias!.dtype]).toEqual([12, 'float32']);
  const counts = { weight: torch.ones([3, 2], { dtype: 'int64' }).share() };
  expect(thrown(() => plain.loadShared(counts, { strict: false })).message).toContain(
    'weight: expected a floating-point dtype, got int64',
  );
});

test('loadStateDict with assign uses the memory of the dict, as a state dict of tokens needs', () => {
  using from = new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3));
  const tokens = Object.fromEntries(Object.entries(from.stateDict()).map(([name, t]) => [name, t.share()]));
  using to = new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3));
  const weight = to.getParameter('0.weight');
  const { bytes } = settled();
  torch.scope(() => {
    const dict = Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, torch.fromShared(token)]));
    expect(to.loadStateDict(dict, { assign: true })).toEqual({ missingKeys: [], unexpectedKeys: [] });
  });
  expect(settled().bytes).toBe(bytes - 4 * (6 + 3 + 4 * 3) - 8);
  from.getParameter('0.weight').detach().fill_(2);
  expect([weight.sum().item(), weight.requiresGrad, to.getParameter('0.weight') === weight]).toEqual([12, true, true]);
  const meta = { ...from.stateDict(), '0.weight': torch.empty([3, 2], { device: 'meta' }) };
  expect(thrown(() => to.loadStateDict(meta, { assign: true })).message).toContain(
    '0.weight: expected device cpu, got meta',
  );
  expect(thrown(() => untyped.nn.Module.prototype.loadStateDict.call(to, {}, { assign: 1 }))).toMatchObject({
    code: 'ERR_TORCH_ARGUMENT',
    argument: 'assign',
  });
});

test('loadStateDict with assign takes a module off the meta device', () => {
  const { nn } = untyped;
  class Net extends nn.Module {
    constructor(device: string) {
      super();
      const first = new nn.Linear(2, 2, { device });
      const tied = new nn.Linear(2, 2, { device });
      tied.weight = first.weight;
      const scale = new nn.Parameter(torch.ones([2], { device } as never), { requiresGrad: false });
      const lazy = new nn.LazyLinear(3, { device });
      const hidden = new nn.Buffer(torch.ones([1], { device } as never));
      Object.assign(this, { first, tied, norm: new nn.BatchNorm1d(2, { device }), lazy, hidden });
      Object.assign(this, { list: new nn.ParameterList([scale]), kept: scale });
    }
  }
  const from: any = new Net('cpu').double();
  from.lazy.forward(torch.ones([1, 2], { dtype: 'float64' }));
  from.list.at(0).requiresGrad = true;
  const to: any = new Net('meta');
  expect(thrown(() => to.loadStateDict({}, { assign: true })).code).toBe('ERR_TORCH_ARGUMENT');
  torch.scope(() => {
    expect(to.loadStateDict(from.stateDict(), { assign: true })).toEqual({ missingKeys: [], unexpectedKeys: [] });
  });
  const all = [...to.parameters(), ...to.buffers()];
  expect(all.map(({ device, dtype, requiresGrad }) => `${device} ${dtype} ${requiresGrad}`)).toEqual(
    [...from.parameters(), ...from.buffers()].map((one) => `cpu ${one.dtype} ${one.requiresGrad && one !== from.kept}`),
  );
  expect([to.tied.weight === to.first.weight, to.kept === to.list.at(0), to.hidden instanceof nn.Buffer]).toEqual([
    true,
    true,
    true,
  ]);
  torch.noGrad(() => from.first.weight.fill_(7));
  expect([to.first.weight.sum().item(), to.norm.runningMean.toArray()]).toEqual([28, [0, 0]]);
  expect(to.lazy.forward(torch.ones([1, 2], { dtype: 'float64' })).shape).toEqual([1, 3]);
  const { tensors } = settled();
  to.dispose();
  expect(tensors - torch.memory().tensors).toBe(all.length);
  from.dispose();
});
