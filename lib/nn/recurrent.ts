/** Recurrent layers. */
import { warn } from '../call/warnings';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, nameOf, read, text, type Values } from './arguments';
import { type Hx, pairSpec, stateSpec } from './cells';
import { uniform_ } from './init';
import { demandTensor, forwardOf, further } from './inputs';
import { parameter } from './layer';
import type { FactoryArgs } from './linear';
import { Module } from './module';
import { aten } from './ops';
import type { Parameter } from './parameter';
import { pythonFloat, snakeCase } from './python';
import { PackedSequence } from './utils/packed';

type Mode = 'LSTM' | 'GRU' | 'RNN_TANH' | 'RNN_RELU';
const GATES: Readonly<Record<Mode, number>> = { LSTM: 4, GRU: 3, RNN_TANH: 1, RNN_RELU: 1 };
const OPS: Readonly<Record<Mode, string>> = { LSTM: 'lstm', GRU: 'gru', RNN_TANH: 'rnnTanh', RNN_RELU: 'rnnRelu' };

const shared = {
  inputSize: int(),
  hiddenSize: int(),
  numLayers: int(1),
  bias: flag(true),
  batchFirst: flag(false),
  dropout: float(0),
  bidirectional: flag(false),
};
const base = {
  mode: text<Mode>(undefined, ['LSTM', 'GRU', 'RNN_TANH', 'RNN_RELU']),
  ...shared,
  projSize: int(0),
  ...factory,
};
type SharedArgs = [
  inputSize: number,
  hiddenSize: number,
  numLayers?: number,
  bias?: boolean,
  batchFirst?: boolean,
  dropout?: number,
  bidirectional?: boolean,
];
type Result<H, T = Tensor> = [output: T, hidden: H];
type LstmState = readonly [hidden: Tensor, cell: Tensor];

function demand({ mode, hiddenSize, dropout, numLayers, projSize }: Values<typeof base>, name: string): void {
  const at = nameOf(name);
  if (!(dropout >= 0 && dropout <= 1)) throw argumentError(at, 'dropout', 'a probability from 0 to 1', dropout);
  if (numLayers < 1) throw argumentError(at, 'numLayers', 'an integer of 1 or more', numLayers);
  if (projSize < 0 || (projSize > 0 && projSize >= hiddenSize)) {
    throw argumentError(at, 'projSize', `an integer from 0 to ${hiddenSize - 1}, less than hiddenSize`, projSize);
  }
  if (projSize > 0 && mode !== 'LSTM') throw argumentError(at, 'projSize', '0, except for an LSTM', projSize);
  if (dropout > 0 && numLayers === 1) {
    warn(
      'dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects numLayers greater ' +
        `than 1, but got dropout=${dropout} and numLayers=${numLayers}`,
    );
  }
}

/** What the recurrent layers have in common. */
export class RNNBase extends Module {
  mode: Mode;
  inputSize: number;
  hiddenSize: number;
  numLayers: number;
  bias: boolean;
  batchFirst: boolean;
  dropout: number;
  bidirectional: boolean;
  projSize: number;
  /** The weights of the layers: `weightIhL0`, `biasHhL1Reverse`. Biases are missing with `bias: false`. */
  [weight: `weightIhL${number}` | `weightIhL${number}Reverse`]: Parameter;
  [weight: `weightHhL${number}` | `weightHhL${number}Reverse`]: Parameter;
  /** With `projSize`. */
  [weight: `weightHrL${number}` | `weightHrL${number}Reverse`]: Parameter;
  [bias: `biasIhL${number}` | `biasIhL${number}Reverse`]: Parameter;
  [bias: `biasHhL${number}` | `biasHhL${number}Reverse`]: Parameter;
  declare weightIhL0: Parameter;
  declare weightHhL0: Parameter;

  constructor(...passed: Args<[mode: Mode, ...SharedArgs, projSize?: number, ...FactoryArgs], typeof base>) {
    super();
    const given = read(new.target.name, base, passed);
    demand(given, new.target.name);
    const { inputSize, hiddenSize, numLayers, bias, projSize } = given;
    this.mode = given.mode;
    this.inputSize = inputSize;
    this.hiddenSize = hiddenSize;
    this.numLayers = numLayers;
    this.bias = bias;
    this.batchFirst = given.batchFirst;
    this.dropout = given.dropout;
    this.bidirectional = given.bidirectional;
    this.projSize = projSize;
    const size = GATES[given.mode] * hiddenSize;
    const real = projSize > 0 ? projSize : hiddenSize;
    const directions = given.bidirectional ? ['', 'Reverse'] : [''];
    for (let layer = 0; layer < numLayers; layer++) {
      const from = layer === 0 ? inputSize : real * directions.length;
      for (const direction of directions) {
        const set = (name: string, shape: number[]) =>
          this.registerParameter(`${name}L${layer}${direction}`, parameter(shape, given));
        set('weightIh', [size, from]);
        set('weightHh', [size, real]);
        if (bias) set('biasIh', [size]);
        if (bias) set('biasHh', [size]);
        if (projSize > 0) set('weightHr', [projSize, hiddenSize]);
      }
    }
    this.resetParameters();
  }

  /** @internal */
  override _keyOf(name: string): string {
    return /^(weight|bias)[A-Z]/.test(name) ? snakeCase(name) : super._keyOf(name);
  }

  resetParameters(): void {
    const bound = this.hiddenSize > 0 ? 1 / Math.sqrt(this.hiddenSize) : 0;
    for (const weight of this.parameters()) uniform_(weight, -bound, bound);
  }

  /** Does nothing: the memory of the weights matters only to cuDNN. */
  flattenParameters(): void {}

  /** The weights by layer and direction, in the op's order. */
  get allWeights(): Parameter[][] {
    const each = (this.bias ? 4 : 2) + (this.projSize > 0 ? 1 : 0);
    const flat = this._flatWeights();
    return Array.from({ length: flat.length / each }, (_, i) => flat.slice(i * each, (i + 1) * each));
  }

  /** @internal Also those that a hook or a parametrization computes. */
  _flatWeights(): Parameter[] {
    const directions = this.bidirectional ? ['', 'Reverse'] : [''];
    const kinds = ['weightIh', 'weightHh', ...(this.bias ? ['biasIh', 'biasHh'] : [])];
    if (this.projSize > 0) kinds.push('weightHr');
    const all: Parameter[] = [];
    for (let layer = 0; layer < this.numLayers; layer++) {
      for (const direction of directions) {
        for (const kind of kinds) {
          all.push((this as unknown as Record<string, Parameter>)[`${kind}L${layer}${direction}`]!);
        }
      }
    }
    return all;
  }

  override forward(input: Tensor, hx?: any): [Tensor, any];
  override forward(input: PackedSequence, hx?: any): [PackedSequence, any];
  override forward(input: Tensor | PackedSequence, ...more: unknown[]): [Tensor | PackedSequence, any] {
    const at = forwardOf(this);
    const isLstm = this.mode === 'LSTM';
    if (!(input instanceof PackedSequence)) demandTensor(this, 'input', input, 'a Tensor or a PackedSequence');
    const [hx] = further(at, isLstm ? pairSpec : stateSpec, more);
    const states = hx === null ? null : ((isLstm ? hx : [hx]) as Tensor[]);
    const [output, last] = ownScope(() =>
      input instanceof PackedSequence ? this._packed(at, input, states) : this._padded(at, input, states),
    );
    return [output, isLstm ? last : last[0]];
  }

  private _padded(at: string, input: Tensor, given: Tensor[] | null): [Tensor, Tensor[]] {
    if (input.ndim !== 2 && input.ndim !== 3) {
      throw argumentError(at, 'input', 'a Tensor of 2 or 3 dimensions', input);
    }
    const batched = input.ndim === 3;
    this._demandSize(at, input);
    const batchDim = this.batchFirst ? 0 : 1;
    const all = batched ? input : (input.unsqueeze(batchDim) as Tensor);
    const batch = all.shape[batchDim]!;
    const hidden = given?.map((one) => this._wide(at, one, batched)) ?? this._zeros(all, batch);
    const [output, ...after] = this._call(all, null, this._checked(at, hidden, batch));
    const last = batched ? after : after.map((one) => one.squeeze(1) as Tensor);
    return [batched ? output : (output.squeeze(batchDim) as Tensor), last];
  }

  private _packed(at: string, input: PackedSequence, given: Tensor[] | null): [PackedSequence, Tensor[]] {
    const { data, batchSizes, sortedIndices, unsortedIndices } = input;
    if (data.ndim !== 2) throw argumentError(at, 'input', 'a PackedSequence of 2 dimensions', data);
    this._demandSize(at, data);
    const batch = Number((batchSizes.at(0) as Tensor).item());
    const ordered = (states: Tensor[], order: Tensor | null) =>
      order === null ? states : states.map((one) => one.indexSelect(1, order) as Tensor);
    const hidden = given === null ? this._zeros(data, batch) : given.map((one) => this._wide(at, one, true));
    const sorted = given === null ? hidden : ordered(hidden, sortedIndices);
    const [output, ...after] = this._call(data, batchSizes, this._checked(at, sorted, batch));
    const packed = new PackedSequence(output, batchSizes, sortedIndices, unsortedIndices);
    return [packed, ordered(after, unsortedIndices)];
  }

  /** The op, whose two forms have different arguments. */
  private _call(data: Tensor, batchSizes: Tensor | null, states: Tensor[]): [Tensor, ...Tensor[]] {
    return aten[OPS[this.mode]](
      data,
      ...(batchSizes === null ? [] : [batchSizes]),
      this.mode === 'LSTM' ? states : states[0],
      this._flatWeights(),
      this.bias,
      this.numLayers,
      this.dropout,
      this.training,
      this.bidirectional,
      ...(batchSizes === null ? [this.batchFirst] : []),
    );
  }

  private _demandSize(at: string, input: Tensor): void {
    const size = input.shape.at(-1);
    if (size !== this.inputSize) throw argumentError(at, 'input', `${this.inputSize} as its last size`, input);
  }

  private _wide(at: string, hidden: Tensor, batched: boolean): Tensor {
    const dims = batched ? 3 : 2;
    if (hidden.ndim !== dims) throw argumentError(at, 'hx', `a Tensor of ${dims} dimensions`, hidden);
    return batched ? hidden : (hidden.unsqueeze(1) as Tensor);
  }

  /** The shapes of the hidden state, and of an LSTM's cell state. */
  private _stateShapes(batch: number): [number[], number[]] {
    const layers = this.numLayers * (this.bidirectional ? 2 : 1);
    const real = this.projSize > 0 ? this.projSize : this.hiddenSize;
    return [
      [layers, batch, real],
      [layers, batch, this.hiddenSize],
    ];
  }

  private _zeros(input: Tensor, batch: number): Tensor[] {
    const shapes = this._stateShapes(batch);
    // In torch.run the dtype of a result of autocast is not known yet.
    return shapes.slice(0, this.mode === 'LSTM' ? 2 : 1).map((shape) => input.newZeros(shape) as Tensor);
  }

  private _checked(at: string, states: Tensor[], batch: number): Tensor[] {
    const shapes = this._stateShapes(batch);
    states.forEach((state, i) => {
      if (state.shape.join() === shapes[i]!.join()) return;
      throw argumentError(at, i === 0 ? 'hx' : 'hx[1]', `a Tensor of shape [${shapes[i]!.join(', ')}]`, state);
    });
    return states;
  }

  override extraRepr(): string {
    const { projSize, numLayers, bias, batchFirst, dropout, bidirectional } = this;
    const parts = [`${this.inputSize}, ${this.hiddenSize}`];
    if (projSize !== 0) parts.push(`proj_size=${projSize}`);
    if (numLayers !== 1) parts.push(`num_layers=${numLayers}`);
    if (!bias) parts.push('bias=False');
    if (batchFirst) parts.push('batch_first=True');
    if (dropout !== 0) parts.push(`dropout=${pythonFloat(dropout)}`);
    if (bidirectional) parts.push('bidirectional=True');
    return parts.join(', ');
  }
}

const { device, dtype } = factory;
const rnn = {
  inputSize: shared.inputSize,
  hiddenSize: shared.hiddenSize,
  numLayers: shared.numLayers,
  nonlinearity: text<'tanh' | 'relu'>('tanh', ['tanh', 'relu']),
  bias: shared.bias,
  batchFirst: shared.batchFirst,
  dropout: shared.dropout,
  bidirectional: shared.bidirectional,
  device,
  dtype,
};
const gru = { ...shared, device, dtype };
const lstm = { ...shared, projSize: int(0), device, dtype };

export class RNN extends RNNBase {
  nonlinearity: 'tanh' | 'relu';

  constructor(
    ...passed: Args<
      [
        inputSize: number,
        hiddenSize: number,
        numLayers?: number,
        nonlinearity?: 'tanh' | 'relu',
        bias?: boolean,
        batchFirst?: boolean,
        dropout?: number,
        bidirectional?: boolean,
        ...FactoryArgs,
      ],
      typeof rnn
    >
  ) {
    const { nonlinearity, ...others } = read('RNN', rnn, passed);
    super({ mode: nonlinearity === 'tanh' ? 'RNN_TANH' : 'RNN_RELU', ...others });
    this.nonlinearity = nonlinearity;
  }

  override forward(input: Tensor, hx?: Hx<Tensor>): Result<Tensor>;
  override forward(input: PackedSequence, hx?: Hx<Tensor>): Result<Tensor, PackedSequence>;
  override forward(input: any, ...more: unknown[]): Result<Tensor, any> {
    return super.forward(input, ...more);
  }
}

export class GRU extends RNNBase {
  constructor(...passed: Args<[...SharedArgs, ...FactoryArgs], typeof gru>) {
    super({ mode: 'GRU', ...read('GRU', gru, passed) });
  }

  override forward(input: Tensor, hx?: Hx<Tensor>): Result<Tensor>;
  override forward(input: PackedSequence, hx?: Hx<Tensor>): Result<Tensor, PackedSequence>;
  override forward(input: any, ...more: unknown[]): Result<Tensor, any> {
    return super.forward(input, ...more);
  }
}

export class LSTM extends RNNBase {
  constructor(...passed: Args<[...SharedArgs, projSize?: number, ...FactoryArgs], typeof lstm>) {
    super({ mode: 'LSTM', ...read('LSTM', lstm, passed) });
  }

  override forward(input: Tensor, hx?: Hx<LstmState>): Result<[hidden: Tensor, cell: Tensor]>;
  override forward(input: PackedSequence, hx?: Hx<LstmState>): Result<[hidden: Tensor, cell: Tensor], PackedSequence>;
  override forward(input: any, ...more: unknown[]): Result<[hidden: Tensor, cell: Tensor], any> {
    return super.forward(input, ...more);
  }
}
