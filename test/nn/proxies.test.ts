/** Modules in deep proxies, as Vue's `reactive` and other state libraries make them: every property is one too. */
import { balanced, torch } from '../support/torch';

const { nn } = torch;

/** Maps and sets are not wrapped: the libraries have methods of their own for them. */
function deep<T extends object>(target: T): T {
  return new Proxy(target, {
    get(from, key, receiver) {
      const value = Reflect.get(from, key, receiver);
      const plain = typeof value === 'object' && value !== null;
      const kept = value instanceof Map || value instanceof Set || value instanceof WeakMap;
      return plain && !kept ? deep(value) : value;
    },
  });
}

it.each([
  ['a layer', () => new nn.Linear(2, 2)],
  ['a layer with buffers', () => new nn.BatchNorm1d(2)],
  ['a container', () => new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU(), new nn.Linear(3, 2))],
])('%s works, trains, and is disposed of', (_what, make) => {
  balanced(() =>
    torch.scope(() => {
      const plain = make();
      const net = deep(plain);
      const x = torch.rand([4, 2]);
      expect(net.forward(x).shape).toEqual([4, 2]);
      const before = [...plain.parameters()].map((one) => one.toArray());
      const optimizer = new torch.optim.SGD(net.parameters(), { lr: 0.1 });
      (net.forward(x) as any).square().sum().backward();
      optimizer.step();
      expect([...plain.parameters()].map((one) => one.toArray())).not.toEqual(before);
      expect(net.loadStateDict(net.stateDict())).toEqual({ missingKeys: [], unexpectedKeys: [] });
      net.registerForwardHook(() => {}).remove();
      net.registerStateDictHook(() => {}).remove();
      net.eval();
      expect(plain.training).toBe(false);
      const copy = net.deepCopy();
      expect(copy.forward(x).shape).toEqual([4, 2]);
      optimizer.zeroGrad();
      torch.disposeAll([net, copy]);
      expect([...plain.parameters()].every((one) => one.disposed)).toBe(true);
    }),
  );
});
