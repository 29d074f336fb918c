/**
 * A vm timeout ends code without running its `finally`. Modes, the current scope and the recording that the code had
 * changed are restored on the next turn of the event loop, or earlier when an enclosing scope ends.
 */
import { setTimeout as later, setImmediate as nextTurn } from 'node:timers/promises';
import * as vm from 'node:vm';
import { settled, torch, untyped } from '../support/torch';

const ones = () => torch.ones([4]);

/** Runs a backward with a hook. */
function hooked(hook: (grad: unknown) => unknown): void {
  const w = torch.ones([4], { requiresGrad: true });
  untyped.sum(w.registerHook(hook as () => void) && w.mul(2)).backward();
}

/** Runs `source` until it is interrupted in its loop: it must not end by itself. */
function cutOff(source: string, values: object = {}): void {
  let isInLoop = false;
  const loop = () => {
    isInLoop = true;
  };
  // A slow machine may need more time to get there.
  for (let timeout = 20; !isInLoop; timeout *= 2) {
    const context = vm.createContext({ torch, hooked, ...values, loop });
    let code = 'it ended by itself';
    try {
      vm.runInContext(source.replace('while (true)', 'loop(); while (true)'), context, { timeout });
    } catch (error) {
      ({ code } = error as { code: string });
    }
    expect(code).toBe('ERR_SCRIPT_EXECUTION_TIMEOUT');
  }
}

/** Global state that code of the library can change. */
function state(): object {
  const t = ones();
  const sum = t.sum();
  const three = torch.tensor(3);
  const four = untyped.add(t, 1, { alpha: three });
  const look = {
    grad: torch.isGradEnabled(),
    inference: torch.isInferenceModeEnabled(),
    recorded: !(sum.numel >= 0),
    owner: untyped.scope((s: { parent: unknown }) => s.parent),
    // A tensor used as a number: the parser's own state.
    number: four.toArray(),
    prepare: Object.hasOwn(Error, 'prepareStackTrace'),
  };
  // At once, because a collection may keep tensors that an interpreter frame still references.
  torch.disposeAll([t, sum, three, four]);
  return look;
}

const turns: [string, () => Promise<unknown>][] = [
  ['a promise continuation', () => Promise.resolve()],
  ['setImmediate', () => nextTurn()],
  ['setTimeout', () => later(1)],
];

const programs: Record<string, string> = {
  noGrad: 'torch.noGrad(() => { while (true); })',
  'enableGrad inside noGrad': 'torch.noGrad(() => torch.enableGrad(() => { while (true); }))',
  inferenceMode: 'torch.inferenceMode(() => { while (true); })',
  'noGrad inside inferenceMode': 'torch.inferenceMode(() => torch.noGrad(() => { while (true); }))',
  'inferenceMode inside noGrad': 'torch.noGrad(() => torch.inferenceMode(() => { while (true); }))',
  scope: 'torch.scope(() => { made.push(torch.ones([4])); while (true); })',
  'a scope in a scope': 'torch.scope(() => torch.scope(() => { made.push(torch.ones([4])); while (true); }))',
  'an asynchronous scope': 'torch.scope(async () => { made.push(torch.ones([4])); while (true); }).catch(() => {})',
  'modes and scopes':
    'torch.inferenceMode(() => torch.scope(() => torch.noGrad(() => torch.scope(() => { made.push(torch.ones([4])); while (true); }))))',
  'what a scope returns':
    'torch.scope(() => ({ get [torch.tensors]() { made.push(torch.ones([4])); while (true); } }))',
  'an option’s getter': 'torch.sum(torch.ones([2, 2]), [0], { get keepdim() { while (true); } })',
  'the function of torch.run': 'torch.run(() => { while (true); }).catch(() => {})',
  'noGrad in torch.run': 'torch.run((T) => T.noGrad(() => { while (true); })).catch(() => {})',
  'a scope in torch.run': 'torch.run((T) => T.scope(() => { while (true); })).catch(() => {})',
  'noGrad in a hook': 'hooked(() => torch.noGrad(() => { while (true); }))',
  'inferenceMode in a hook': 'hooked(() => torch.inferenceMode(() => { while (true); }))',
  'a Function in a hook':
    'hooked((g) => { class F extends torch.autograd.Function { static forward(ctx, x) { while (true); } } return F.apply(g); })',
  'a checkpoint in backward':
    'torch.scope(() => { let calls = 0; const slow = (x) => { if (calls++ > 0) { while (true); } return x.mul(2); }; torch.utils.checkpoint.checkpoint(slow, torch.ones([4], { requiresGrad: true })).sum().backward(); })',
  'a callback of a tensor': 'torch.ones([4]).apply_(() => { while (true); })',
};

afterEach(() => {
  torch.setGradEnabled(true);
});

describe.each(turns)('at the next turn: %s', (_name, turn) => {
  test.each(Object.keys(programs))('%s', async (name) => {
    await nextTurn();
    const before = state();
    const tensors = settled();
    const made: { disposed: boolean }[] = [];
    cutOff(programs[name]!, { made });
    await turn();
    expect(state()).toEqual(before);
    expect(made.map((t) => t.disposed)).toEqual(made.map(() => true));
    made.length = 0;
    expect(settled()).toEqual(tensors);
  });
});

test('a list that is being read', async () => {
  const { ints } = require('../../dist/lib/call/packed') as { ints(list: number[]): unknown };
  const packs = () => typeof ints([0, 1]) === 'number';
  expect(packs()).toBe(true);
  cutOff('torch.sum(torch.ones([2, 2]), new Proxy([0], { get() { while (true); } }))');
  expect(packs()).toBe(false); // which continues by another path
  expect(torch.ones([2, 2]).sum([1]).toArray()).toEqual([2, 2]);
  await Promise.resolve();
  expect(packs()).toBe(true);
});

test.each([
  ['begin', 0],
  ['end', 1],
])('autocast, when libtorch’s modes change at its %s', async (_name, calls) => {
  const { native } = require('../../dist/lib/addon/native') as {
    native: Record<'autocastSet', (...all: unknown[]) => void>;
  };
  const { autocastSet } = native;
  const x = torch.ones([2, 2]);
  for (const isBefore of [true, false]) {
    const slow = (loop: () => void) => {
      let left = calls;
      native.autocastSet = (...all) => {
        if (left-- !== 0) return autocastSet(...all);
        if (!isBefore) autocastSet(...all);
        native.autocastSet = autocastSet;
        loop();
      };
    };
    cutOff('slow(() => { while (true); }); torch.autocast({}, () => {})', { slow });
    await nextTurn();
    expect([isBefore, torch.isAutocastCpuEnabled(), x.mm(x).dtype]).toEqual([isBefore, false, 'float32']);
  }
});

test('microtasks run in the middle of the code do not restore the mode', async () => {
  const { _tickCallback } = process as unknown as { _tickCallback(): void };
  await nextTurn();
  const [sum, grad] = torch.scope(() => {
    const t = ones();
    _tickCallback();
    const inMode = torch.noGrad(() => {
      _tickCallback();
      return torch.isGradEnabled();
    });
    return [t.add(1), inMode];
  });
  expect([sum.toArray(), grad]).toEqual([[2, 2, 2, 2], false]);
  sum.dispose();
  // State interrupted before them is still restored.
  cutOff('torch.noGrad(() => { while (true); })');
  _tickCallback();
  await nextTurn();
  await nextTurn();
  expect(torch.isGradEnabled()).toBe(true);
});

test('the previous mode is restored, not the default', async () => {
  torch.setGradEnabled(false);
  cutOff('torch.enableGrad(() => { while (true); })');
  await nextTurn();
  expect(torch.isGradEnabled()).toBe(false);
});

test('a permanent mode set afterwards stays', async () => {
  torch.noGrad(() => cutOff('torch.enableGrad(() => { while (true); })'));
  torch.setGradEnabled(false);
  await nextTurn();
  expect(torch.isGradEnabled()).toBe(false);
});

test('the end of the enclosing scope restores at once', () => {
  torch.noGrad(() => {
    cutOff('torch.enableGrad(() => torch.inferenceMode(() => { while (true); }))');
  });
  expect([torch.isGradEnabled(), torch.isInferenceModeEnabled()]).toEqual([true, false]);
  const inner: { disposed: boolean }[] = [];
  const kept = torch.scope(() => {
    cutOff('torch.scope(() => { made.push(torch.ones([4])); while (true); })', { made: inner });
    return ones();
  });
  expect([kept.disposed, inner[0]!.disposed]).toEqual([false, true]);
  kept.dispose();
});

test('waiting scopes, and those of openScope, stay open', async () => {
  await torch.scope(async (outer) => {
    using opened = torch.openScope();
    const mine = ones();
    cutOff('torch.noGrad(() => torch.scope(() => { while (true); }))');
    const beside = torch.scope(async () => {
      const t = ones();
      await nextTurn();
      return t.disposed;
    });
    await nextTurn();
    const after = ones();
    expect([outer.closed, opened.closed, mine.disposed, await beside]).toEqual([false, false, false, false]);
    expect(torch.isGradEnabled()).toBe(true);
    opened.close();
    expect([mine.disposed, after.disposed]).toEqual([true, true]);
  });
});

test('inside scope.run of a scope that stays open', async () => {
  const { current, s, t } = await torch.scope(async (open) => {
    cutOff('open.run(() => { while (true); })', { open });
    await nextTurn();
    const made = ones();
    return { current: open.closed, s: open, t: torch.keep(made) };
  });
  expect([current, s.closed, t.disposed]).toEqual([false, true, false]);
  t.dispose();
});

test('a stack without space for the end of a scope', async () => {
  const tensors = settled();
  let calls = 0;
  const down = (): void => {
    try {
      down();
    } catch {
      // The end of the stack.
    }
    if (calls++ > 200) return;
    try {
      torch.noGrad(() => torch.scope(() => torch.scope(() => ones())));
    } catch (error) {
      expect(error).toBeInstanceOf(Object(error).constructor);
    }
  };
  down();
  await nextTurn();
  expect(torch.isGradEnabled()).toBe(true);
  expect(untyped.scope((s: { parent: unknown }) => s.parent)).toBe(null);
  expect(settled()).toEqual(tensors);
});
