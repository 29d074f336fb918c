/** Extra arguments, which JavaScript ignores. */
import { thrown, torch } from '../support/torch';

test('methods refuse what they would ignore, such as an argument that Python takes by position', () => {
  const net = new torch.nn.Sequential(new torch.nn.Linear(1, 1)) as any;
  const list = new torch.nn.ModuleList() as any;
  const optimizer = new torch.optim.SGD(net.parameters(), { lr: 1 }) as any;
  const calls: [string, () => unknown][] = [
    ['Sequential.namedParameters: takes at most 1 argument, got 2', () => net.namedParameters('p', false)],
    ['Sequential.children: takes no arguments, got 1', () => net.children(true)],
    ['ModuleList.append: takes at most 1 argument, got 2', () => list.append(net, net)],
    ['ModuleDict.pop: takes at most 1 argument, got 2', () => (new torch.nn.ModuleDict({}) as any).pop('a', 1)],
    [
      'ParameterList.append: takes at most 1 argument, got 2',
      () => (new torch.nn.ParameterList([]) as any).append(1, 2),
    ],
    ['ParameterList.at: takes at most 1 argument, got 2', () => (new torch.nn.ParameterList([]) as any).at(0, 1)],
    ['SGD.zeroGrad: takes at most 1 argument, got 2', () => optimizer.zeroGrad({}, 1)],
  ];
  for (const [message, call] of calls) expect(thrown(call)).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', message });
  expect(list.length).toBe(0);
  net.dispose();
  // A class of one's own takes what it likes.
  class Own extends torch.nn.Module {
    override train(mode: boolean, more?: number): this {
      expect(more).toBe(2);
      return super.train(mode);
    }
  }
  expect(new Own().train(false, 2).training).toBe(false);
});
