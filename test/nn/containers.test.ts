/** Containers: positions, names and orders as in Python. */
import { thrown, torch } from '../support/torch';

const { nn } = torch;
const layer = () => new nn.Linear(1, 1);
const names = (module: InstanceType<typeof nn.Module>) => module.namedParameters().map(([name]) => name);

test('an element is read and replaced by its position', () => {
  const [first, second, third] = [layer(), layer(), layer()];
  const net: any = new nn.Sequential(first, second);
  expect([net[0], net[1], net[2]]).toEqual([first, second, undefined]);
  net[0] = third;
  expect(names(net)).toEqual(['0.weight', '0.bias', '1.weight', '1.bias']);
  expect([net.at(0) === third, net.children().includes(first), Object.keys(net)]).toEqual([true, false, ['training']]);
  const { code, message } = thrown(() => {
    net[2] = layer();
  });
  expect([code, message]).toEqual([
    'ERR_TORCH_ARGUMENT',
    "Sequential.set: argument 'index': expected a position in a list of 2, got 2",
  ]);
  expect(thrown(() => (net[0] = 5)).message).toBe("Sequential.set: argument 'module': expected a Module, got 5");
  const list: any = new nn.ParameterList([torch.ones([1]), torch.ones([2])]);
  list[1] = torch.zeros([3]);
  expect([list[1] instanceof nn.Parameter, list[1].shape, list.length]).toEqual([true, [3], 2]);
  net.dispose();
});

test('the name of a replaced element stays', () => {
  const net = new nn.Sequential(
    new Map([
      ['first', layer()],
      ['second', layer()],
    ]),
  );
  net.set(-1, layer());
  expect(names(net)).toEqual(['first.weight', 'first.bias', 'second.weight', 'second.bias']);
  expect(thrown(() => net.set(-3, layer())).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => net.set(0.5, layer())).code).toBe('ERR_TORCH_ARGUMENT');
});

test('parameters of a plain object are in the order of their names, as those of a dict in Python', () => {
  const one = () => torch.ones([1]);
  expect(names(new nn.ParameterDict({ w: one(), b: one() }))).toEqual(['b', 'w']);
  expect(
    names(
      new nn.ParameterDict(
        new Map([
          ['w', one()],
          ['b', one()],
        ]),
      ),
    ),
  ).toEqual(['w', 'b']);
  expect(
    names(
      new nn.ParameterDict(
        new nn.ParameterDict([
          ['w', one()],
          ['b', one()],
        ]).entries(),
      ),
    ),
  ).toEqual(['w', 'b']);
  expect(names(new nn.ModuleDict({ w: layer(), b: layer() }))).toEqual(['w.weight', 'w.bias', 'b.weight', 'b.bias']);
});

test('names that every object of JavaScript has are names like others', () => {
  const usual = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];
  const dict = new nn.ModuleDict(new Map(usual.map((name) => [name, layer()])));
  expect(Object.keys(dict.stateDict())).toEqual(usual.flatMap((name) => [`${name}.weight`, `${name}.bias`]));
  class Net extends nn.Module {
    override valueOf: any = new nn.Parameter(torch.ones([1]));
  }
  expect(names(new Net())).toEqual(['valueOf']);
});
