/** A tensor has an owner as soon as its slot exists: failures before it reaches the program do not leak. */
import { ask } from '../support/child';

/**
 * Collects until two successive counts are equal. Before each collection it waits for V8's compiler, which holds the context of
 * the closure that it compiles (test/support/torch.ts).
 */
const SETTLE = `
  const v8 = require('v8');
  v8.setFlagsFromString('--expose-gc');
  const gc = require('vm').runInNewContext('gc');
  const endCompiling = () => {
    v8.setFlagsFromString('--allow-natives-syntax');
    try {
      new Function('%FinalizeOptimization()')();
    } catch {
      // This V8 does not have the function.
    } finally {
      v8.setFlagsFromString('--no-allow-natives-syntax');
    }
  };
  const settle = async () => {
    for (let last = -1; last !== torch.memory().tensors; ) {
      last = torch.memory().tensors;
      for (let i = 0; i < 2; i++) {
        endCompiling();
        gc();
        await new Promise(setImmediate);
      }
    }
    return torch.memory().tensors;
  };
`;

test('a stack overflow in the middle of a result that is a list, a generator or data', async () => {
  const { left, calls } = await ask(`${SETTLE}
    const x = torch.rand([8]);
    const m = torch.rand([3, 3]);
    const ways = {
      sort: () => x.sort(),
      unbind: () => x.unbind(),
      svd: () => torch.linalg.svd(m),
      generator: () => new torch.Generator(),
      tensor: () => torch.tensor([1, 2]),
      borrowed: () => torch.fromTypedArray(new Float32Array(2)),
      keep: () => torch.scope(() => torch.keep(x.sort())),
      scope: () => torch.scope(() => x.sort()),
    };
    const left = {};
    let calls = 0;
    (async () => {
      for (const [name, fn] of Object.entries(ways)) {
        fn();
        const before = await settle();
        for (let pad = 0; pad < 24; pad++) {
          let budget = 60; // calls at the depths nearest to the end
          const descend = (...rest) => {
            try {
              descend(...rest);
            } catch {
              // The end of the stack: towards the outer frames there is a little more space in each.
            }
            if (budget-- <= 0) return;
            try {
              fn();
            } catch (error) {
              if (!(error instanceof RangeError)) throw error;
              calls++;
            }
          };
          descend(...Array(pad).fill(0));
        }
        left[name] = (await settle()) - before;
      }
      answer({ left, calls });
    })();
  `);
  expect(left).toEqual({ sort: 0, unbind: 0, svd: 0, generator: 0, tensor: 0, borrowed: 0, keep: 0, scope: 0 });
  expect(calls).toBeGreaterThan(100);
});

test('a process.emitWarning that throws: the error passes, nothing is leaked', async () => {
  const { messages, left, scope } = await ask(`${SETTLE}
    const [x, y] = [torch.rand([4, 4]), torch.ones([3])];
    const messages = [];
    process.emitWarning = () => {
      throw new Error('no warnings here');
    };
    const attempt = (fn) => {
      try {
        fn();
        messages.push('nothing');
      } catch (error) {
        messages.push(error.message);
      }
    };
    (async () => {
      const before = await settle();
      attempt(() => torch.meshgrid([y, y])); // a list, and it warns once
      // Two results, and a warning of libtorch: qr is deprecated, and 2.14 has none.
      attempt(() => torch.scope(() => (x.qr === undefined ? torch.varMean(torch.ones([1])) : x.qr())));
      answer({ messages, left: (await settle()) - before, scope: torch.ones([1]).disposed });
    })();
  `);
  expect({ messages, left, scope }).toEqual({
    messages: ['no warnings here', 'no warnings here'],
    left: 0,
    scope: false,
  });
});

test('a subscriber that opens a scope between the elements of a list', async () => {
  const { left, disposed } = await ask(`${SETTLE}
    const channel = require('diagnostics_channel').channel('libtorch-node:allocation');
    const x = torch.rand([64]);
    const scopes = [];
    const subscriber = () => scopes.push(torch.openScope());
    const closeAll = () => {
      while (scopes.length > 0) scopes.pop().close();
    };
    (async () => {
      const before = await settle();
      channel.subscribe(subscriber);
      torch.setAllocationThreshold(64);
      for (let i = 0; i < 20; i++) {
        x.sort();
        closeAll();
      }
      const both = x.sort();
      closeAll();
      const disposed = both.map((t) => t.disposed); // they were made outside every scope
      for (const t of both) t.dispose();
      channel.unsubscribe(subscriber);
      answer({ disposed, left: (await settle()) - before });
    })();
  `);
  expect({ left, disposed }).toEqual({ left: 0, disposed: [false, false] });
});
