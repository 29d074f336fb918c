/** Required arguments by name, as Python programs write them. */
import { settled, thrown, torch, untyped } from '../support/torch';

const { nn } = torch;

test('clipping of gradients', () => {
  const before = settled();
  const clipped = (clip: (w: any) => unknown): unknown => {
    const w = torch.ones([4], { requiresGrad: true });
    w.mul(3).sum().backward();
    const given = clip(w);
    (given as { dispose?(): void } | undefined)?.dispose?.();
    const values = w.grad!.mul(1e4).round().toArray();
    w.dispose();
    return values;
  };
  const positional = clipped((w) => nn.utils.clipGradNorm_([w], 1, { normType: 1 }));
  expect(clipped((w) => nn.utils.clipGradNorm_([w], { maxNorm: 1, normType: 1 }))).toEqual(positional);
  expect(clipped((w) => nn.utils.clipGradNorm_([w], 1, 1, true))).toEqual(positional);
  expect(clipped((w) => nn.utils.clipGradValue_([w], { clipValue: 2 }))).toEqual([2e4, 2e4, 2e4, 2e4]);
  expect(() => untyped.nn.utils.clipGradNorm_([], { maxnorm: 1 })).toThrow(
    "nn.utils.clipGradNorm_: argument 'options': expected one of the options maxNorm, normType, errorIfNonfinite, " +
      "got 'maxnorm'; did you mean 'maxNorm'?",
  );
  expect(settled()).toEqual(before);
});

test('gains, samplers and gradients', () => {
  expect(nn.init.calculateGain('leaky_relu', { param: 0.2 })).toBe(nn.init.calculateGain('leaky_relu', 0.2));
  expect(() => untyped.nn.init.calculateGain()).toThrow(
    "nn.init.calculateGain: argument 'nonlinearity': expected a string, got undefined",
  );
  const { WeightedRandomSampler, BatchSampler } = torch.utils.data;
  expect([...new WeightedRandomSampler([0, 1, 0], { numSamples: 3, replacement: true })]).toEqual([1, 1, 1]);
  expect([...new BatchSampler([4, 5, 6], { batchSize: 2, dropLast: false })]).toEqual([[4, 5], [6]]);

  const x = torch.tensor([1, 2], { requiresGrad: true });
  const outputs = x.mul(x).sum();
  const [gradient] = torch.autograd.grad({ outputs, inputs: x, createGraph: true });
  expect([gradient!.toArray(), gradient!.requiresGrad]).toEqual([[2, 4], true]);
  expect(() => untyped.autograd.grad({ outputs, inputs: x, retaingraph: true })).toThrow(/did you mean 'retainGraph'/);
  torch.disposeAll([x, outputs, gradient!]);
});

test('global pruning', () => {
  const layers = [new nn.Linear(2, 2), new nn.Linear(2, 2)];
  const places = layers.map((layer) => [layer, 'weight'] as const);
  nn.utils.prune.globalUnstructured(places, { pruningMethod: nn.utils.prune.L1Unstructured, amount: 0.5 });
  const zeros = layers.map((layer) => Number(layer.weight.eq(0).sum().item()));
  expect(zeros[0]! + zeros[1]!).toBe(4);
  expect(() => untyped.nn.utils.prune.globalUnstructured(places, { amount: 0.5 })).toThrow(
    "argument 'pruningMethod': expected a class of torch.nn.utils.prune, got undefined",
  );
});

test('stacks of the Transformer', () => {
  const { TransformerEncoder: Encoder, TransformerDecoder: Decoder } = nn;
  const encoderLayer = new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 8 });
  const decoderLayer = new nn.TransformerDecoderLayer(8, 2, { dimFeedforward: 8 });
  const norm = new nn.LayerNorm(8);
  const x = torch.ones([3, 1, 8]);
  for (const stack of [
    new Encoder(encoderLayer, 2, norm, false),
    new Encoder(encoderLayer, 2, { norm, enableNestedTensor: false }),
    new Encoder(encoderLayer, { numLayers: 2, norm, enableNestedTensor: false }),
    new Encoder({ encoderLayer, numLayers: 2, norm, enableNestedTensor: false, maskCheck: true }),
  ]) {
    expect([stack.layers.length, stack.norm === norm, stack.enableNestedTensor, stack.maskCheck]).toEqual([
      ...[2, true, false, true],
    ]);
    torch.scope(() => expect(stack.forward(x).shape).toEqual([3, 1, 8]));
  }
  for (const stack of [new Decoder(decoderLayer, 1, { norm }), new Decoder({ decoderLayer, numLayers: 1, norm })]) {
    torch.scope(() => expect(stack.forward(x, x).shape).toEqual([3, 1, 8]));
  }
  const refused: [() => unknown, string][] = [
    [() => new untyped.nn.TransformerEncoder(encoderLayer, 2, 5), "'norm': expected a Module, or null, got 5"],
    [() => new untyped.nn.TransformerEncoder(encoderLayer), "'numLayers': expected an integer, got undefined"],
    [
      () => new untyped.nn.TransformerEncoder(encoderLayer, -1),
      "'numLayers': expected an integer of 0 or more, got -1",
    ],
    [() => new untyped.nn.TransformerEncoder(5, 1), "'encoderLayer': expected a Module, got 5"],
    [() => new untyped.nn.TransformerDecoder(decoderLayer, 1, { nrom: norm }), "'nrom'; did you mean 'norm'?"],
  ];
  for (const [make, text] of refused) {
    expect(thrown(make)).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', message: expect.stringContaining(text) });
  }
});

test('a module as the distance of a loss', () => {
  const tensors = [0, 1, 2].map((n) => torch.arange(6).reshape([2, 3]).pow(n).float());
  const [anchor, positive, negative] = tensors as [any, any, any];
  const distanceFunction = new nn.PairwiseDistance();
  const loss = new nn.TripletMarginWithDistanceLoss({ distanceFunction });
  const { tripletMarginWithDistanceLoss: f } = nn.functional;
  torch.scope(() => {
    const expected = f(anchor, positive, negative).item();
    expect(loss.forward(anchor, positive, negative).item()).toBe(expected);
    expect(f(anchor, positive, negative, { distanceFunction }).item()).toBe(expected);
  });
  // As Python prints it, also for the default.
  for (const one of [loss, new nn.TripletMarginWithDistanceLoss()]) {
    expect(String(one)).toBe('TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)');
  }
  expect(thrown(() => new untyped.nn.TripletMarginWithDistanceLoss(5)).message).toBe(
    "nn.TripletMarginWithDistanceLoss: argument 'distanceFunction': expected a Module or a function, or null, got 5",
  );
  expect(
    thrown(() => untyped.nn.functional.tripletMarginWithDistanceLoss(...tensors, { distanceFunction: 5 })).message,
  ).toBe(
    "tripletMarginWithDistanceLoss: argument 'distanceFunction': expected a Module or a function of two Tensors, or null, got 5",
  );
});

test('embeddings of a given table', () => {
  const table = torch.arange(6).reshape([3, 2]).float();
  const input = torch.tensor([[0n, 2n]]);
  for (const [net, requiresGrad] of [
    [nn.Embedding.fromPretrained(table), false],
    [nn.Embedding.fromPretrained(table, false), true],
    [nn.Embedding.fromPretrained(table, { freeze: false, paddingIdx: 1 }), true],
    [nn.Embedding.fromPretrained({ embeddings: table, normType: 1 }), false],
  ] as const) {
    expect(net.weight.requiresGrad).toBe(requiresGrad);
    torch.scope(() =>
      expect(net.forward(input).toArray()).toEqual([
        [
          [0, 1],
          [4, 5],
        ],
      ]),
    );
  }
  const bag = nn.EmbeddingBag.fromPretrained(table, { mode: 'sum' });
  const mean = nn.EmbeddingBag.fromPretrained(table, false);
  expect([bag.weight.requiresGrad, mean.weight.requiresGrad, mean.mode]).toEqual([false, true, 'mean']);
  torch.scope(() => expect(bag.forward(input).toArray()).toEqual([[4, 6]]));
  expect(String(bag)).toMatch(/^EmbeddingBag\(3, 2, mode='?sum'?\)$/);
  const refused: [() => unknown, string][] = [
    [() => untyped.nn.EmbeddingBag.fromPretrained(input.at(0)), "'embeddings': expected a Tensor of 2 dimensions, got"],
    [() => untyped.nn.Embedding.fromPretrained(table, { freez: true }), "did you mean 'freeze'?"],
    [() => untyped.nn.Embedding.fromPretrained(table, 5), "'freeze': expected a boolean, got 5"],
  ];
  for (const [make, text] of refused) {
    expect(thrown(make)).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', message: expect.stringContaining(text) });
  }
});

test('a table that is a parameter stays trained', () => {
  for (const cls of [nn.Embedding, nn.EmbeddingBag] as const) {
    const trained = new nn.Embedding(3, 2);
    const frozen = cls.fromPretrained(trained.weight);
    expect([trained.weight.requiresGrad, frozen.weight.requiresGrad]).toEqual([true, false]);
    torch.noGrad(() => trained.weight.fill_(7)); // as in Python, the memory is that of the table
    expect(frozen.weight.toArray()).toEqual(trained.weight.toArray());
    trained.dispose();
    frozen.dispose();
  }
});
