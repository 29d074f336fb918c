/** What a program may keep, such as a scope that has ended or a hook's handle, keeps nothing else of the program. */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB } from '../support/torch';

/** Each way keeps what it returns, and nothing else: `left` is the number of tensors that a collection does not free. */
const WAYS = `{
  'the scope itself'() {
    const s = torch.openScope();
    s.close();
    return s;
  },
  'a timer that was started in it'() {
    const s = torch.openScope();
    const timer = setTimeout(Object, 1e6).unref();
    s.close();
    return timer;
  },
  'a scope that ends with an enclosing one'() {
    return torch.scope(() => [torch.openScope()]);
  },
  'a hook whose closure has the scope: a cycle through the graph'() {
    const leaf = torch.zeros([8], { requiresGrad: true });
    let s;
    leaf.registerHook(() => {
      (s = torch.openScope()).close();
    });
    leaf.exp().sum().backward();
  },
  'a scope inside a function with a backward, whose arguments enclose it'() {
    let inner;
    class Double extends torch.autograd.Function {
      static forward(_ctx, x) {
        torch.scope((s) => { inner = s; });
        return x.mul(2);
      }
      static backward(_ctx, gradient) { return gradient.mul(2); }
    }
    Double.apply(torch.zeros([8], { requiresGrad: true }));
    return [inner];
  },
  'the handle of a hook of a module'() {
    const handle = new torch.nn.Linear(2, 2).registerForwardHook(Object);
    handle.remove();
    return handle;
  },
  'the handle of a hook of a module, which is still there'() {
    return new torch.nn.Linear(2, 2).registerFullBackwardHook(Object);
  },
  'an error that names the layer'() {
    try {
      new torch.nn.Sequential(new torch.nn.Linear(2, 2)).forward(torch.zeros([3]));
    } catch (error) {
      return error;
    }
  },
  async 'a timer that the function of torch.run started'() {
    let timer;
    await torch.run(async (t) => {
      timer = setTimeout(Object, 1e6).unref();
      return t.ones([2]).add(1);
    });
    return timer;
  },
  async 'the module that torch.run passes'() {
    const captured = torch.zeros([8]);
    let passed;
    await torch.run((t) => {
      passed = t;
      return t.add(captured, 1);
    });
    return { passed }; // it would be asked for then()
  },
  'a capture that was disposed of'() {
    const captured = torch.zeros([8]);
    const add = torch.capture((x) => x.add(captured));
    add(torch.ones([8]));
    add.dispose();
    return add;
  },
  'the context of a function whose forward failed'() {
    let context;
    class Fails extends torch.autograd.Function {
      static forward(ctx, x) {
        context = ctx;
        ctx.saveForBackward(x.mul(2));
        throw new Error('no result');
      }
      static backward(_ctx, gradient) { return gradient; }
    }
    try {
      Fails.apply(torch.zeros([8], { requiresGrad: true }));
    } catch {
      return [context];
    }
  },
}`;

test('what is kept holds neither the objects whose methods ran nor the arguments of the functions around it', async () => {
  const left = await ask(`
    const v8 = require('v8');
    v8.setFlagsFromString('--expose-gc');
    const gc = require('vm').runInNewContext('gc');
    const ways = ${WAYS};
    const kept = [];
    const left = {};
    (async () => {
      for (const name of Object.keys(ways)) {
        const before = torch.memory().tensors;
        const receiver = () => Object.assign(Object.create(ways), { tensor: torch.zeros([8]) });
        for (let i = 0; i < 20; i++) kept.push(await receiver()[name]());
        const count = () => torch.memory().tensors - before;
        // Those of the last call may be in a register.
        for (let i = 0; i < 50 && count() > 3; i++) {
          await new Promise(setImmediate);
          gc();
        }
        if (count() > 3) left[name] = count();
      }
      answer(left);
    })();`);
  expect(left).toEqual({});
});

test('async functions leave nothing in the tables of scopes, whether they wait, end at once, throw or never settle', async () => {
  const left = await ask(`
    const { native } = require(${JSON.stringify(path.join(LIB, 'addon/native.js'))});
    const { functions, mayWait } = native.scopesNow;
    const functionsOf = {
      'ends at once': async () => {},
      'waits': async () => { await null; },
      'throws at once': async () => { throw new Error('no'); },
      'throws later': async () => { await null; throw new Error('no'); },
      'is not async': () => Promise.resolve(),
      'throws without a promise': () => { Promise.resolve(); throw new Error('no'); },
      'has made other promises first': () => { Promise.resolve(); return (async () => {})(); },
      'ends at once inside another': async () => { await torch.scope(async () => {}); },
    };
    (async () => {
      const left = {};
      for (const [name, fn] of Object.entries(functionsOf)) {
        for (let i = 0; i < 100; i++) await (async () => torch.scope(fn))().catch(() => {});
        const count = functions.size + mayWait.size;
        if (count > 0) left[name] = count;
        functions.clear();
        mayWait.clear();
      }
      // These are forgotten when the program has done other work.
      for (let i = 0; i < 100; i++) void torch.scope(async () => { await new Promise(() => {}); });
      if (functions.size !== 100) left['is still waiting'] = functions.size;
      const { setFlagsFromString } = require('v8');
      setFlagsFromString('--expose-gc');
      const gc = require('vm').runInNewContext('gc');
      for (let i = 0; i < 50 && functions.size > 0; i++) {
        for (let j = 0; j < 300; j++) await null;
        await new Promise(setImmediate);
        gc();
      }
      if (functions.size > 0) left['never settles'] = functions.size;
      answer(left);
    })();`);
  expect(left).toEqual({});
});
