/** What utils.py does in Python, done here: each case gives the same names. */
import { untyped } from '../support/torch';
import { now, weights } from './utils-weights';

const torch = untyped;
const { nn } = torch;
const { rnn } = nn.utils;

export type Case = () => Record<string, unknown>;

const parts = (packed: any) => [packed.data, packed.batchSizes, packed.sortedIndices, packed.unsortedIndices];
const int64 = (values: number[]) => torch.tensor(values, { dtype: 'int64' });

function packing() {
  const batch = torch.randn([4, 3, 2], { requiresGrad: true });
  const unsorted = rnn.packPaddedSequence(batch, int64([2, 4, 1]), { enforceSorted: false });
  const ordered = rnn.packPaddedSequence(batch, [3, 2, 2], false);
  const first = rnn.packPaddedSequence(batch.detach().transpose(0, 1), [4, 4, 1], { batchFirst: true });
  const [padded, lengths] = rnn.padPackedSequence(unsorted, { paddingValue: -1.5, totalLength: 6 });
  padded.sum().backward();
  return {
    unsorted: parts(unsorted),
    ordered: parts(ordered),
    first: parts(first),
    padded: [padded, lengths, batch.grad],
    again: rnn.padPackedSequence(first, true),
    text: String(rnn.packSequence([int64([1, 2, 3]), int64([4, 5])])),
  };
}

function lists() {
  const sequences = [2, 5, 1].map((length) => torch.randn([length, 2]));
  const packed = rnn.packSequence(sequences, false);
  const padded = rnn.padSequence(sequences, { paddingValue: 9 });
  return {
    packed: parts(packed),
    double: parts(packed.double()),
    padded,
    first: rnn.padSequence(sequences, true),
    unpacked: rnn.unpackSequence(packed),
    unpadded: rnn.unpadSequence(padded, int64([2, 5, 1])),
    inverse: rnn.invertPermutation(int64([2, 0, 1])),
  };
}

const total = (values: any[]) => values.map((value) => value.sum()).reduce((sum, value) => sum.add(value));

function recurrent(make: () => any, hidden: number[][]) {
  torch.manualSeed(8);
  const layer = make();
  const data = [2, 5, 3].map((length) => torch.randn([length, 4]));
  const states = hidden.map((size) => torch.randn(size));
  const found: Record<string, unknown> = {};
  for (const [name, state] of Object.entries({ none: null, given: states.length === 1 ? states[0] : states })) {
    layer.zeroGrad();
    torch.manualSeed(9);
    const [output, last] = layer.forward(rnn.packSequence(data, { enforceSorted: false }), state);
    const ends = Array.isArray(last) ? last : [last];
    total([output.data, ...ends]).backward();
    found[name] = [parts(output), ends, layer.parameters().map((one: any) => one.grad)];
  }
  layer.dispose();
  return found;
}

const lstm = () =>
  recurrent(
    () => new nn.LSTM(4, 5, 2, { bidirectional: true, dropout: 0.5, projSize: 2 }),
    [
      [4, 3, 2],
      [4, 3, 5],
    ],
  );
const gru = () => recurrent(() => new nn.GRU(4, 5, 2, { bias: false }), [[2, 3, 5]]);
const elman = () => recurrent(() => new nn.RNN(4, 5, { nonlinearity: 'relu', batchFirst: true }), [[1, 3, 5]]);

const averages = torch.optim.swaUtils;

function averaged() {
  const found: Record<string, unknown> = {};
  const avgFn = averages.getEmaAvgFn(0.9);
  for (const [name, given] of Object.entries({ mean: {}, ema: { avgFn }, buffers: { avgFn, useBuffers: true } })) {
    const net = new nn.Sequential(new nn.Linear(3, 4), new nn.BatchNorm1d(4));
    const average = new averages.AveragedModel(net, given);
    const optimizer = new torch.optim.SGD(net.parameters(), { lr: 0.1 });
    const batches = [0, 1, 2, 3].map(() => torch.randn([5, 3]));
    for (const batch of batches) {
      optimizer.zeroGrad();
      net.forward(batch).mul(2).sub(1).pow(2).sum().backward();
      optimizer.step();
      average.updateParameters(net);
    }
    found[name] = now(average);
    averages.updateBn(
      batches.slice(1).map((batch) => [batch, 0]),
      average,
    );
    found[`${name} updated`] = [now(average), average.eval().forward(batches[0])];
  }
  return found;
}

function laterLayers() {
  const x = torch.randn([2, 3, 4, 4, 5]);
  const given = new nn.Parameter(x);
  const pooled = new nn.LPPool3d(2, 2, { ceilMode: true }).forward(given);
  pooled.sum().backward();
  const norm = new nn.RMSNorm([4, 5], 1e-3);
  const normed = norm.forward(x);
  normed.pow(2).sum().backward();
  return {
    pooled: [pooled, given.grad],
    normed: [normed, norm.weight.grad, norm.stateDict()],
    plain: new nn.RMSNorm(5).forward(x),
  };
}

export const cases: Record<string, Case> = {
  packing,
  lists,
  lstm,
  gru,
  elman,
  ...weights,
  averaged,
  later_layers: laterLayers,
};
