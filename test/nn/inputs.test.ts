/** Arguments of forward: further ones by name, and the errors for missing and wrong ones. */
import { thrown, torch, untyped } from '../support/torch';

const { nn } = torch;
type Call = () => unknown;

/** The values of the tensors in a result. */
const valuesOf = (value: any): unknown =>
  Array.isArray(value) ? value.map(valuesOf) : (value?.toArray?.() ?? value ?? null);

/** Calls that mean the same. */
function same(...calls: Call[]): void {
  torch.scope(() => {
    const [first, ...others] = calls.map((call) => valuesOf(call()));
    for (const other of others) expect(other).toEqual(first);
  });
}

function refused(call: Call, text: string): void {
  torch.scope(() => {
    const { code, message } = thrown(call);
    expect([code, message.split('\n')[0]]).toEqual(['ERR_TORCH_ARGUMENT', text]);
  });
}

const far = (text: string) => expect.stringContaining(text);

test('the size of a transposed convolution', () => {
  for (const dims of [1, 2, 3]) {
    const name = `ConvTranspose${dims}d`;
    const net = new untyped.nn[name](1, 1, 3, { stride: 2 });
    const x = torch.ones([1, 1, ...new Array<number>(dims).fill(2)]);
    const outputSize = new Array<number>(dims).fill(6);
    same(
      () => net.forward(x, outputSize),
      () => net.forward(x, { outputSize }),
      () => net.forward(x, [1, 1, ...outputSize]),
    );
    expect(net.forward(x, { outputSize }).shape.slice(2)).toEqual(outputSize);
    same(
      () => net.forward(x),
      () => net.forward(x, null),
      () => net.forward(x, {}),
    );
    const start = `nn.${name}.forward: argument`;
    refused(() => net.forward(x, 6), `${start} 'outputSize': expected a list of integers, got 6`);
    refused(() => net.forward(x, { outputSize: 'a' }), `${start} 'outputSize': expected a list of integers, got 'a'`);
    refused(() => net.forward(x, { outputsize: [6] }), far("did you mean 'outputSize'?"));
  }
});

test('the states of recurrent layers and cells', () => {
  const x = torch.ones([1, 2]);
  const hx = torch.full([1, 3], 0.5);
  for (const name of ['RNN', 'GRU', 'RNNCell', 'GRUCell']) {
    const net = new untyped.nn[name](2, 3);
    same(
      () => net.forward(x, hx),
      () => net.forward(x, { hx }),
    );
    refused(() => net.forward(x, 5), `nn.${name}.forward: argument 'hx': expected a Tensor, or null, got 5`);
    refused(() => net.forward(x, { h: hx }), far("expected the option hx, got 'h'"));
  }
  for (const name of ['LSTM', 'LSTMCell']) {
    const net = new untyped.nn[name](2, 3);
    same(
      () => net.forward(x, [hx, hx]),
      () => net.forward(x, { hx: [hx, hx] }),
    );
    const start = `nn.${name}.forward: argument 'hx': expected a pair [h, c] of Tensors, got`;
    refused(() => net.forward(x, hx), `${start} a Tensor float32[1, 3]`);
    refused(() => net.forward(x, [hx]), `${start} an array of 1 (first: a Tensor float32[1, 3])`);
    refused(() => net.forward(x, hx, hx), far('takes at most 1 argument after the inputs, got 2'));
  }
});

test('the offsets and weights of an EmbeddingBag, and the masks of attention', () => {
  const bag = new nn.EmbeddingBag(4, 2, { mode: 'sum' });
  const input = torch.tensor([0n, 1n, 2n]);
  const offsets = torch.tensor([0n, 1n]);
  const perSampleWeights = torch.tensor([1, 2, 3]);
  same(
    () => bag.forward(input, offsets, perSampleWeights),
    () => bag.forward(input, { offsets, perSampleWeights }),
  );
  refused(() => untyped.nn.EmbeddingBag.prototype.forward.call(bag, input, [0]), far("'offsets': expected a Tensor"));
  const attention: any = new nn.MultiheadAttention(4, 2, { batchFirst: true });
  const x = torch.ones([1, 2, 4]);
  refused(() => attention.forward(x, x, x, { attnMask: 5 }), far("'attnMask': expected a Tensor, or null, got 5"));
  refused(() => attention.forward(x, x, x, { attnmask: x }), far("did you mean 'attnMask'?"));
  refused(
    () => attention.forward(x, x),
    "nn.MultiheadAttention.forward: argument 'value': expected a Tensor, got undefined",
  );
});

test('gradients of the weights of samples, by offsets with and without the end of the last bag', () => {
  torch.scope(() => {
    const weight = torch.rand([5, 2]);
    const input = torch.tensor([0n, 3n, 1n, 4n]);
    const empty = torch.zeros([0], { dtype: 'int64' });
    const gradOf = (offsets: readonly bigint[], includeLastOffset: boolean) => {
      const perSampleWeights = torch.rand([4], { requiresGrad: true });
      const bag = new nn.EmbeddingBag(5, 2, { mode: 'sum', includeLastOffset, _weight: weight });
      bag
        .forward(input, { offsets: torch.tensor([...offsets]), perSampleWeights })
        .sum()
        .backward();
      return perSampleWeights.grad!.toArray();
    };
    const rows = weight.indexSelect(0, input).sum(1).toArray();
    for (const offsets of [
      [0n, 1n],
      [0n, 0n, 3n],
      [0n, 4n],
    ]) {
      expect(gradOf(offsets, false)).toEqual(rows);
      expect(gradOf([...offsets, 4n], true)).toEqual(rows);
    }
    // Bags that are not rows of the gradient: before the first offset, and after the end of the last bag.
    for (const offsets of [
      [1n, 2n],
      [0n, 1n, 3n],
    ]) {
      const call = () =>
        untyped._embeddingBagPerSampleWeightsBackward(
          torch.rand([2, 2]),
          weight,
          input,
          torch.tensor(offsets),
          empty,
          0,
        );
      expect(thrown(call).message).toContain('offset2bag: expected rows of weight [5, 2] in indices');
    }
  });
});

test('Unflatten finds the size -1 of a batch without rows', () => {
  const layer = new nn.Unflatten(-1, [2, -1]);
  expect(layer.forward(torch.zeros([0, 6])).shape).toEqual([0, 2, 3]);
  expect(thrown(() => layer.forward(torch.zeros([]))).code).toBe('ERR_TORCH_ARGUMENT');
});

test('a Softmax2d takes images, alone or in a batch', () => {
  const net = new nn.Softmax2d();
  torch.scope(() => {
    for (const shape of [
      [2, 3, 4],
      [5, 2, 3, 4],
    ]) {
      const sums = net.forward(torch.rand(shape)).sum(-3);
      expect(torch.allclose(sums, torch.onesLike(sums))).toBe(true);
    }
  });
  const start = "nn.Softmax2d.forward: argument 'input': expected a Tensor of 3 or 4 dimensions, got a Tensor";
  refused(() => net.forward(torch.ones([2, 3])), `${start} float32[2, 3]`);
  refused(() => net.forward(torch.ones([1, 2, 3, 4, 5])), `${start} float32[1, 2, 3, 4, 5]`);
});

/** Arguments of constructors, by class without its dimensions, where there must be some. Functions make modules. */
const ARGS: Readonly<Record<string, readonly unknown[]>> = {
  AdaptiveAvgPool2d: [[null, 2]],
  AdaptiveLogSoftmaxWithLoss: [8, 6, [2]],
  Bilinear: [2, 2, 2],
  Fold: [[2, 2], 2],
  FractionalMaxPool: [2, { outputSize: 2 }],
  GroupNorm: [2, 4],
  LazyLinear: [2],
  LPPool: [2, 2],
  MultiheadAttention: [8, 2, { batchFirst: true }],
  RNNBase: ['LSTM', 2, 2],
  Sequential: [() => new nn.Linear(8, 8)],
  Threshold: [0, 0],
  Transformer: [{ dModel: 8, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 8 }],
  TransformerEncoder: [() => new nn.TransformerEncoderLayer(8, 2, 8), 1],
  TransformerEncoderLayer: [8, 2, 8],
  TransformerDecoder: [() => new nn.TransformerDecoderLayer(8, 2, 8), 1],
  TransformerDecoderLayer: [8, 2, 8],
  Unflatten: [1, [2, 2]],
  ...Object.fromEntries(['Conv', 'ConvTranspose'].map((name) => [name, [2, 2, 3]])),
  ...Object.fromEntries(['LazyConv', 'LazyConvTranspose', 'ConstantPad'].map((name) => [name, [2, 3]])),
};
const others =
  /^(Adaptive(Avg|Max)Pool|(Avg|Max)(Un)?[Pp]ool|(Circular|Reflection|Replication|Zero)Pad|(Batch|Instance|Layer|RMS|SyncBatch)Norm|Pixel\w+|ChannelShuffle|Unfold|LocalResponseNorm|Upsampl\w+)$/;
const pairs = /^(Linear|Embedding|EmbeddingBag|(RNN|LSTM|GRU)(Cell)?)$/;
const argsOf = (name: string): readonly unknown[] => {
  const family = name.replace(/\dd$/, '');
  const given = ARGS[name] ?? ARGS[family] ?? (pairs.test(family) ? [2, 2] : others.test(family) ? [2] : []);
  return given.map((one) => (typeof one === 'function' ? one() : one));
};

test('every module refuses a missing or wrong input with a code', () => {
  const notCalled = /^(Parameter|Buffer|Uninitialized\w+|Identity|RNNCellBase|Module|(Module|Parameter)(List|Dict))$/;
  const names = Object.keys(nn).filter((name) => /^[A-Z]/.test(name) && !notCalled.test(name));
  const x = torch.ones([2, 2, 2]);
  const wrong: string[] = [];
  torch.scope(() => {
    for (const name of names) {
      const net = new untyped.nn[name](...argsOf(name));
      for (const inputs of [[], [[1, 2]], [null], [5], [{}], [x], [x, null], [x, 5], [x, x, 5]]) {
        try {
          net.forward(...inputs);
          if (inputs[0] !== x) wrong.push(`${name} takes ${inputs}`);
        } catch (error) {
          const { code, message } = error as { code?: string; message: string };
          if (!code?.startsWith('ERR_TORCH_')) wrong.push(`${name}: ${message}`);
        }
      }
      net.dispose();
    }
  });
  expect(wrong).toEqual([]);
  expect(names.length).toBeGreaterThan(140);
});
