/** Groups that a program has changed into something else: a coded error, before a step changes a parameter. */
import { thrown, torch } from '../support/torch';

const { optim } = torch;
const changes: Record<string, [(made: any) => void, RegExp]> = {
  'no list': [
    (made) => Object.assign(made, { paramGroups: null }),
    /'paramGroups': expected a list of groups, got null/,
  ],
  'no group': [(made) => made.paramGroups.splice(0, 1, null), /'paramGroups\[0\]': expected an object .*, got null/],
  'no params': [
    (made) => Object.assign(made.paramGroups[0], { params: undefined }),
    /'paramGroups\[0\]': expected an object with a list params/,
  ],
  'a number as a parameter': [
    (made) => made.paramGroups[0].params.push(5),
    /'paramGroups\[0\]\.params\[2\]': expected a Tensor, got 5/,
  ],
};

test.each(Object.keys(changes))('%s: step and zeroGrad refuse it and change nothing', (name) => {
  const [change, message] = changes[name]!;
  for (const made of [
    (params: any) => new optim.SGD(params, { lr: 0.1 }),
    (params: any) => new optim.Adam(params),
    (params: any) => new optim.Rprop(params),
    (params: any) => new optim.LBFGS(params),
  ]) {
    torch.scope(() => {
      const layer = new torch.nn.Linear(2, 2);
      const optimizer: any = made(layer.parameters());
      layer
        .forward(torch.ones([1, 2]))
        .sum()
        .backward();
      const before = layer.weight.toArray();
      change(optimizer);
      for (const [method, call] of [
        ['step', () => optimizer.step(() => layer.forward(torch.ones([1, 2])).sum())],
        ['zeroGrad', () => optimizer.zeroGrad()],
      ] as const) {
        const error = thrown(call) as any;
        expect([error.code, error.op.endsWith(`.${method}`)]).toEqual(['ERR_TORCH_ARGUMENT', true]);
        expect(error.message).toMatch(message);
      }
      expect(layer.weight.toArray()).toEqual(before);
    });
  }
});

test('lists in a loaded state dict stay those of the program', () => {
  const params = [torch.ones([1], { requiresGrad: true })];
  const optimizer = new optim.Adam(params);
  const dict: any = optimizer.stateDict();
  optimizer.loadStateDict(dict);
  dict.param_groups[0].betas[0] = 0.5;
  expect(optimizer.paramGroups[0]!.betas).toEqual([0.9, 0.999]);
});
