/** The layer of an LSTM in oneDNN and its gradient, as this library replaces them (native/ops/replaced_lstm.h). */
import type { Tensor } from '../../types';
import { release } from '../support/release';
import { counts, thrown, torch, untyped } from '../support/torch';

const { aten } = untyped.ops;
/** libtorch 2 has LSTMs in oneDNN. */
const isNew = release !== '1.13';

/** An LSTM of one layer with 3 steps of a batch of 2, from 5 to 4 numbers. `sizes` replaces those of single tensors. */
function lstm(sizes: Record<string, number[]> = {}, dtype = 'float32', training = false) {
  const of = (name: string, usual: number[]) =>
    torch
      .randn(sizes[name] ?? usual)
      .to(dtype as 'float32')
      .requiresGrad_(training);
  const input = of('input', [3, 2, 5]);
  const states = [of('h', [1, 2, 4]), of('c', [1, 2, 4])];
  const weights = [of('w_ih', [16, 5]), of('w_hh', [16, 4]), of('b_ih', [16]), of('b_hh', [16])];
  const results = aten.lstm.input(input, states, weights, true, 1, 0, training, false, false);
  return { input, states, weights, results };
}

/** What the cell gives step by step: the hidden state after each step, the last one and the last cell state. */
function byCell(input: Tensor, states: Tensor[], weights: Tensor[]): Tensor[] {
  let [h, c] = states.map((state) => state.select(0, 0));
  const steps = [];
  for (let step = 0; step < 3; step++) {
    [h, c] = aten.lstm_cell.default(input.select(0, step), [h, c], ...weights);
    steps.push(h!);
  }
  return [torch.stack(steps), h!.unsqueeze(0), c!.unsqueeze(0)];
}

const areClose = (got: Tensor[], expected: Tensor[]) =>
  got.map((one, i) => torch.allclose(one, expected[i]!, { atol: 1e-5 }));

test('an LSTM gives what its cell gives step by step, and the same gradients', () => {
  const before = counts();
  torch.scope(() => {
    const { input, states, weights, results } = lstm({}, 'float32', true);
    const expected = byCell(input, states, weights);
    expect(areClose(results, expected)).toEqual([true, true, true]);
    const given = [input, ...states, ...weights];
    const gradients = (outputs: Tensor[]) =>
      torch.autograd.grad(
        outputs.map((one) => one.pow(2).sum()),
        given,
      ) as Tensor[];
    expect(areClose(gradients(results), gradients(expected))).toEqual(given.map(() => true));
  });
  expect(counts()).toEqual(before);
});

/**
 * These are broadcast by what runs in place of oneDNN's layer: by libtorch 1.13, and for bfloat16 where the CPU lacks AVX-512
 * (oneDNN does not have it there).
 */
const BROADCAST: [string, number[]][] = [
  ['c', [1, 1, 4]],
  ['b_ih', [1]],
];

test.each<[string, number[]]>([
  ['input', [3, 2, 6]],
  ['h', [1, 1, 4]],
  ['w_ih', [16, 1]],
  ['w_ih', [1, 5]],
  ['w_hh', [8, 4]],
  ['w_hh', [16, 400]],
  ['b_hh', [3, 4]],
  ...(isNew ? BROADCAST : []),
])('an LSTM with wrong sizes is an error: %s %j', (name, sizes) => {
  const dtypes = isNew && !BROADCAST.some(([one]) => one === name) ? ['float32', 'bfloat16'] : ['float32'];
  for (const dtype of dtypes) {
    const before = counts();
    const error = torch.scope(() => thrown(() => lstm({ [name]: sizes }, dtype)));
    expect(error.code).toBe('ERR_TORCH_RUNTIME');
    expect(counts()).toEqual(before);
  }
});

if (isNew) {
  const weightNames = ['w_ih', 'w_hh', 'b_ih', 'b_hh'];
  const names = ['input', ...weightNames, 'h_0', 'c_0', 'output', 'h_n', 'c_n'];
  const gradients = ['grad_output', 'grad_h_n', 'grad_c_n'];

  /** A gradient by a direct call, after `change` of what the layer had and gave. */
  function backward(change: (given: Record<string, Tensor>) => void, hidden = 4): Tensor[] {
    const { input, states, weights } = lstm();
    const [h, c] = states;
    const settings = [2, hidden, 1, true, false];
    const layer = aten.mkldnn_rnn_layer.default(input, ...weights, h, c, false, [], 2, 4, 1, true, false, false, true);
    const given = Object.fromEntries(
      [...names, ...gradients].map((name, i) => {
        const tensors = [input, ...weights, h, c, layer[0], layer[1], layer[2], layer[0], layer[1], layer[2]];
        return [name, tensors[i]!.clone()];
      }),
    ) as Record<string, Tensor>;
    given.workspace = layer[3];
    change(given);
    const tensors = [...names, ...gradients].map((name) => given[name]!);
    return aten.mkldnn_rnn_layer_backward.default(...tensors, false, ...settings, true, [], false, given.workspace);
  }

  test('its gradient by a direct call, of tensors with gaps too', () => {
    const before = counts();
    torch.scope(() => {
      let made: Record<string, Tensor> = {};
      const usual = backward((given) => {
        made = { ...given };
      });
      const withGaps = backward((given) => {
        for (const name of [...names, ...gradients]) {
          const one = made[name]!;
          given[name] = torch.stack([one, one], -1).select(-1, 0);
        }
        given.workspace = made.workspace!;
      });
      expect(areClose(withGaps, usual)).toEqual(usual.map(() => true));
    });
    expect(counts()).toEqual(before);
  });

  test.each([
    ...[...names, ...gradients, 'workspace'].map((name) => [name, (one: Tensor) => one.narrow(0, 0, 0)] as const),
    ...[...names, ...gradients].map((name) => [name, (one: Tensor) => one.to('float64')] as const),
    ['workspace', (one: Tensor) => one.to('int8')] as const,
  ])('its gradient with a wrong %s is an error', (name, change) => {
    const before = counts();
    const error = torch.scope(() =>
      thrown(() =>
        backward((given) => {
          given[name] = change(given[name]!);
        }),
      ),
    );
    expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', message: expect.stringContaining('lstm: ') });
    expect(counts()).toEqual(before);
  });

  /** Whether a layer gives the same after `change` of one of its tensors, which puts it into oneDNN's layout. */
  function isSameWith(name: string, change: (tensor: Tensor) => Tensor): boolean {
    const { input, states, weights, results } = lstm();
    const [h, c] = states;
    const tensors: Record<string, Tensor> = {
      input,
      ...Object.fromEntries(weightNames.map((w, i) => [w, weights[i]!])),
    };
    Object.assign(tensors, { h, c });
    tensors[name] = change(tensors[name]!);
    const settings = [false, [], 2, 4, 1, true, false, false, false];
    const layer = aten.mkldnn_rnn_layer.default(...Object.values(tensors), ...settings);
    return areClose(layer.slice(0, 3), results).every(Boolean);
  }

  test.each(['w_ih', 'w_hh'])('%s in the layout of oneDNN', (name) => {
    torch.scope(() => {
      const packed = (weight: Tensor) => weight.view([4, 4, -1]).permute([2, 0, 1]).contiguous();
      expect(isSameWith(name, (weight) => packed(weight).unsqueeze(0).unsqueeze(0).toMkldnn())).toBe(true);
      for (const wrong of [
        (weight: Tensor) => weight.toMkldnn(),
        () => torch.rand([1, 1, 1, 4, 4]).toMkldnn(),
        () => torch.rand([1, 1, 5, 4, 400]).toMkldnn(),
      ]) {
        expect(thrown(() => isSameWith(name, wrong)).code).toBe('ERR_TORCH_RUNTIME');
      }
    });
  });

  test.each(['input', 'b_ih', 'b_hh', 'h', 'c'])('%s in the layout of oneDNN is an error', (name) => {
    const error = torch.scope(() => thrown(() => isSameWith(name, (tensor) => tensor.toMkldnn())));
    expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', message: expect.stringContaining('lstm: ') });
  });

  test('its gradient with another hidden size is an error', () => {
    expect(torch.scope(() => thrown(() => backward(() => {}, 400))).message).toContain('lstm: ');
  });
}
