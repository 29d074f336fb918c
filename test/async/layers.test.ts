/** torch.run with layers: made in it, and called with results of its ops. */
import { balancedAsync, torch, untyped } from '../support/torch';

const failure = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => new Error('it resolved'),
    (error) => error,
  );

it.each<[string, (t: typeof torch) => unknown, string]>([
  ['a parameter', (t) => new torch.nn.Parameter(t.ones([2])), 'nn.Parameter'],
  ['a buffer', (t) => new torch.nn.Buffer(t.ones([2])), 'nn.Buffer'],
  ['a registered buffer', (t) => new torch.nn.Module().registerBuffer('a', t.ones([2])), 'registerBuffer'],
])('%s of a pending tensor is refused', async (_what, make, op) => {
  await balancedAsync(async () => {
    const error = await failure(untyped.run(make));
    expect(error).toMatchObject({ code: 'ERR_TORCH_PENDING', op, argument: 'tensor' });
    expect(error.message).toContain('await it, or make the module outside torch.run');
  });
});

it('layers can be made and called in it, with the values that they have outside', async () => {
  const { nn } = torch;
  await balancedAsync(async () => {
    for (const make of [
      () => new nn.Linear(4, 4),
      () => new nn.Sequential(new nn.Linear(4, 4), new nn.BatchNorm1d(4)),
      () => new nn.TransformerEncoderLayer(4, 2, { batchFirst: true, dropout: 0 }),
    ]) {
      await torch.scope(async () => {
        const x = torch.rand([2, 4]);
        torch.manualSeed(3);
        const outside = make();
        torch.manualSeed(3);
        const [inside, y] = await untyped.run(() => {
          const layer = make();
          return [layer, layer.forward(x)];
        });
        expect(y.equal(outside.forward(x))).toBe(true); // also the running statistics are equal afterwards
        const [expected, got] = [outside.stateDict(), inside.stateDict()];
        expect(Object.keys(got)).toEqual(Object.keys(expected));
        for (const name of Object.keys(expected)) expect((got[name] as any).equal(expected[name])).toBe(true);
        torch.disposeAll([inside, outside]);
      });
    }
  });
});

it('T of a pending tensor reverses all dimensions', async () => {
  await torch.scope(async () => {
    for (const shape of [[], [3], [2, 3], [2, 3, 4]]) {
      const x = torch.rand(shape);
      const y: any = await torch.run(() => x.neg().T);
      expect(y.equal(x.neg().T)).toBe(true);
    }
  });
});

it.each([true, false])('attention layers take results of ops, training: %p', async (training) => {
  await balancedAsync(async () => {
    const { nn } = torch;
    const options = { batchFirst: true, dropout: 0 };
    const made = [
      new nn.TransformerEncoderLayer(4, 2, options),
      new nn.TransformerDecoderLayer(4, 2, options),
    ] as const;
    for (const layer of made) layer.train(training);
    const [encoder, decoder] = made;
    const others: unknown[] = [];
    await torch.scope(async () => {
      const x = torch.rand([1, 3, 4]);
      const calls: [() => any, boolean][] = [
        [() => encoder.forward(x.mul(2)), true],
        [() => decoder.forward(x.mul(2), x.mul(3)), true],
        [
          () => {
            const inside = new nn.TransformerEncoderLayer(4, 2, options).train(training);
            others.push(inside);
            return inside.forward(x.mul(2));
          },
          false,
        ],
      ];
      for (const [call, isSame] of calls) {
        const y: any = await torch.run(call);
        expect(y.shape).toEqual([1, 3, 4]);
        if (isSame) expect(y.allclose(call())).toBe(true);
      }
    });
    torch.disposeAll([made, others]);
  });
});
