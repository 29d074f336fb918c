/** States from outside: a step refuses what does not fit before it changes a parameter. */
import { thrown, torch } from '../support/torch';

const { optim } = torch;

const options: Record<string, Record<string, unknown>> = {
  SGD: { lr: 0.1, momentum: 0.9 },
  Adam: { amsgrad: true },
  AdamW: {},
  Adamax: {},
  NAdam: {},
  RAdam: {},
  Adagrad: {},
  Adadelta: {},
  RMSprop: { momentum: 0.9, centered: true },
  Rprop: {},
  ASGD: {},
  Adafactor: {},
  Muon: {},
  SparseAdam: {},
  LBFGS: { lr: 0.1, maxIter: 3, toleranceChange: 0, toleranceGrad: 0 },
};

/** An optimizer of two matrices. Its step gives them gradients. */
function make(name: string, more: object = {}): any {
  const params = [0, 1].map((i) => torch.full([2, 3], i + 1).requiresGrad_());
  const optimizer = new (optim as any)[name](params, { ...options[name], ...more });
  const closure = () => {
    for (const p of params) {
      const grad = p.detach().mul(0.5);
      p.grad = name === 'SparseAdam' ? grad.toSparse() : grad;
    }
    return 1;
  };
  return { optimizer, params, step: () => optimizer.step(closure), values: () => params.map((p) => p.tolist()) };
}

/** A step is refused with `message`, and changes neither parameter nor state. */
function expectRefusal({ optimizer, step, values }: any, message: RegExp): void {
  const stateOf = () =>
    JSON.stringify([...optimizer.state.values()], (_, value) =>
      value instanceof torch.Tensor ? [value.shape, value.flatten().tolist()] : value,
    );
  const before = [values(), stateOf()];
  for (let twice = 0; twice < 2; twice++) {
    const error = thrown(step) as any;
    expect({ code: error.code, message: error.message }).toEqual({
      code: 'ERR_TORCH_RUNTIME',
      message: expect.stringMatching(message),
    });
    expect([values(), stateOf()]).toEqual(before);
  }
}

const names = Object.keys(options);
const withTensors = names.filter((name) => name !== 'LBFGS');

describe.each(names)('%s', (name) => {
  const stepped = (more?: object) => {
    const made = make(name, more);
    for (let n = 0; n < 3; n++) made.step();
    return made;
  };

  it('refuses the state of another optimizer', () => {
    const sgd = make(name === 'SGD' || name === 'Muon' ? 'Adam' : 'SGD');
    sgd.step();
    const made = make(name);
    const saved = sgd.optimizer.stateDict();
    made.optimizer.loadStateDict({ ...saved, param_groups: made.optimizer.stateDict().param_groups });
    // As in Python, SGD begins its momentum where a state has none.
    if (name === 'SGD') made.step();
    else
      expectRefusal(made, new RegExp(`^optim\\.${name}\\.step: state of parameter 0: expected '\\w+', got keys \\w`));
  });

  it('refuses a state that lacks a value, or has another shape or kind, in the last parameter alone', () => {
    const last = name === 'LBFGS' ? 0 : 1;
    const { optimizer } = stepped();
    const keys = Object.keys(optimizer.stateDict().state.get(last)).filter((key) => !/^(al|prev_loss)$/.test(key));
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      for (const [value, message] of [
        [undefined, `expected '${key}', got keys .*other$`],
        ['wrong', `${key}: expected .*, got 'wrong'$`],
        [torch.ones([5, 7]), `${key}: expected .*, got .*5, 7`],
      ] as const) {
        const saved = optimizer.stateDict();
        const state = saved.state.get(last);
        if (value === undefined) {
          delete state[key];
          state.other = 1; // an empty state would begin anew
        } else state[key] = value;
        const made = make(name);
        // Through a state dict, and put there by a program.
        made.optimizer.loadStateDict(saved);
        if (name === 'SGD' && value === undefined) made.step();
        else expectRefusal(made, new RegExp(`^optim\\.${name}\\.step: state of parameter ${last}: (${message})`));
        if (value === undefined) continue;
        const other = make(name);
        for (const [i, p] of other.params.entries()) {
          if (saved.state.has(i)) other.optimizer.state.set(p, { ...saved.state.get(i) });
        }
        expect(thrown(other.step)).toMatchObject({ code: 'ERR_TORCH_RUNTIME' });
      }
    }
  });

  it('goes on with a whole state, and begins where it is empty', () => {
    const [one, two, fresh, empty] = [stepped(), make(name), make(name), make(name)];
    for (const [i, p] of two.params.entries()) torch.noGrad(() => p.copy_(one.params[i]));
    two.optimizer.loadStateDict(one.optimizer.stateDict());
    const saved = empty.optimizer.stateDict();
    empty.optimizer.loadStateDict({ ...saved, state: { 0: {} } });
    for (const made of [one, two, fresh, empty]) made.step();
    expect(two.values()).toEqual(one.values());
    expect(empty.values()).toEqual(fresh.values());
    if (withTensors.includes(name)) expect(empty.optimizer.state.size).toBe(2);
  });
});

test.each([
  ['Adam', { amsgrad: false }, 'amsgrad', true, 'max_exp_avg_sq'],
  ['RMSprop', { momentum: 0 }, 'momentum', 0.9, 'momentum_buffer'],
  ['RMSprop', { centered: false }, 'centered', true, 'grad_avg'],
] as const)('%s: an option that needs more of the state than there is', (name, more, option, value, key) => {
  const made = make(name, more);
  made.step();
  made.optimizer.paramGroups[0][option] = value;
  expectRefusal(made, new RegExp(`state of parameter 0: expected '${key}', got keys step, `));
});

test('a state without a gradient is checked when it has one', () => {
  const { optimizer, params } = make('Adam');
  optimizer.state.set(params[1], { step: 1 });
  params[0].grad = torch.ones([2, 3]);
  optimizer.step();
  params[1].grad = torch.ones([2, 3]);
  expect(() => optimizer.step()).toThrow(/state of parameter 1: expected 'exp_avg', got keys step$/);
});

test('a class of one’s own has a state of its own', () => {
  class Own extends optim.Adam {
    protected override begin() {
      return { mine: torch.ones([1]) };
    }

    protected override update(p: any, grad: any) {
      p.sub_(grad);
    }
  }
  const p = torch.ones([2]).requiresGrad_();
  p.grad = torch.ones([2]);
  const optimizer = new Own([p]);
  optimizer.step();
  optimizer.loadStateDict(optimizer.stateDict());
  optimizer.step();
  expect(p.toArray()).toEqual([-1, -1]);
});

test.each([null, 'strong_wolfe'] as const)('LBFGS (%s) leaves the tensors of a state dict alone', (lineSearchFn) => {
  const made = make('LBFGS', { lineSearchFn, historySize: 2 });
  const [p] = made.params;
  const step = () =>
    made.optimizer.step(() => {
      made.optimizer.zeroGrad();
      const loss = p.sub(3).pow(4).sum();
      loss.backward();
      return loss;
    });
  step();
  const { state } = made.optimizer.stateDict();
  const held = Object.values(state.get(0))
    .flat()
    .filter((value: any) => value instanceof torch.Tensor) as any[];
  const d = state.get(0).d.tolist();
  for (let n = 0; n < 5; n++) step();
  expect(held.filter((value) => value.disposed)).toEqual([]);
  expect(state.get(0).d.tolist()).toEqual(d);
});

test('LBFGS keeps at most historySize directions, also when that has become smaller', () => {
  const run = (historySize: number, then = historySize) =>
    torch.scope(() => {
      const weight = torch.tensor([3, 2], { requiresGrad: true });
      const optimizer = new optim.LBFGS([weight], { historySize, maxIter: 8 });
      const closure = () => {
        optimizer.zeroGrad();
        const loss = weight.pow(4).sum();
        loss.backward();
        return loss;
      };
      const first = closure().item() as number;
      optimizer.step(closure);
      optimizer.paramGroups[0]!.historySize = then;
      optimizer.step(closure);
      const { old_dirs, old_stps, ro } = optimizer.state.get(weight)!;
      expect(closure().item()).toBeLessThan(first);
      return [old_dirs, old_stps, ro].map(({ length }) => length);
    });
  expect([run(5), run(6, 2), run(0)]).toEqual([
    [5, 5, 5],
    [2, 2, 2],
    [0, 0, 0],
  ]);
});
