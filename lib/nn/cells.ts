/** One step of recurrent layers. */
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { type Args, type Factory, factory, flag, int, kind, read, tensor, text } from './arguments';
import { uniform_ } from './init';
import { demandTensor, forwardOf, further, type OrNamed } from './inputs';
import { parameter } from './layer';
import type { FactoryArgs } from './linear';
import { Module, name as pythonNames } from './module';
import { aten } from './ops';
import type { Parameter } from './parameter';

const cell = { inputSize: int(), hiddenSize: int(), bias: flag(true), ...factory };
type CellArgs = [inputSize: number, hiddenSize: number, bias?: boolean, ...FactoryArgs];
type Options = Factory & { inputSize: number; hiddenSize: number; bias: boolean };

/** The states that forwards take: a tensor, or the two of an LSTM. */
export const stateSpec = { hx: tensor };
export const pairSpec = {
  hx: kind<[Tensor, Tensor]>(
    'a pair [h, c] of Tensors',
    undefined,
    (value) => {
      if (!Array.isArray(value) || value.length !== 2) return undefined;
      const [h, c] = [value[0], value[1]] as unknown[]; // once: the list may be a Proxy
      return isTensor(h) && isTensor(c) ? [bare(h), bare(c)] : undefined;
    },
    () => '',
  ),
};
export type Hx<T> = OrNamed<'hx', T>;

/** What the cells have in common. */
export class RNNCellBase extends Module {
  inputSize: number;
  hiddenSize: number;
  bias: boolean;
  weightIh: Parameter;
  weightHh: Parameter;
  biasIh: Parameter | null;
  biasHh: Parameter | null;

  /** @internal */
  constructor(given: Options, chunks: number) {
    super();
    const { inputSize, hiddenSize, bias } = given;
    const size = chunks * hiddenSize;
    this.inputSize = inputSize;
    this.hiddenSize = hiddenSize;
    this.bias = bias;
    this.weightIh = parameter([size, inputSize], given);
    this.weightHh = parameter([size, hiddenSize], given);
    this.biasIh = bias ? parameter([size], given) : null;
    this.biasHh = bias ? parameter([size], given) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    const bound = this.hiddenSize > 0 ? 1 / Math.sqrt(this.hiddenSize) : 0;
    for (const weight of this.parameters()) uniform_(weight, -bound, bound);
  }

  override extraRepr(): string {
    return `${this.inputSize}, ${this.hiddenSize}${this.bias ? '' : ', bias=False'}`;
  }

  /** @internal Runs one step on a batch; an input of one dimension is a batch of one. */
  _step(input: Tensor, more: unknown[], run: (input: Tensor, hidden: Tensor) => Tensor): Tensor {
    const batched = this._isBatched(input);
    const [hidden] = further(forwardOf(this), stateSpec, more) as [Tensor | null];
    return ownScope(() => {
      if (batched) return run(input, hidden ?? this._zeros(input));
      const batch = input.unsqueeze(0) as Tensor;
      return run(batch, (hidden?.unsqueeze(0) as Tensor | undefined) ?? this._zeros(batch)).squeeze(0) as Tensor;
    });
  }

  /** @internal */
  _isBatched(input: Tensor): boolean {
    const expected = 'a Tensor of 1 or 2 dimensions';
    demandTensor(this, 'input', input, expected);
    if (input.ndim === 1 || input.ndim === 2) return input.ndim === 2;
    throw argumentError(forwardOf(this), 'input', expected, input);
  }

  /** @internal */
  _zeros(input: Tensor): Tensor {
    return input.newZeros([input.shape[0]!, this.hiddenSize]) as Tensor;
  }

  /** @internal */
  get _weights(): (Parameter | null)[] {
    return [this.weightIh, this.weightHh, this.biasIh, this.biasHh];
  }
}
pythonNames(RNNCellBase, {
  weightIh: 'weight_ih',
  weightHh: 'weight_hh',
  biasIh: 'bias_ih',
  biasHh: 'bias_hh',
});

const nonlinearity = text<'tanh' | 'relu'>('tanh', ['tanh', 'relu']);
const { device, dtype } = factory;
const rnnCell = { inputSize: int(), hiddenSize: int(), bias: flag(true), nonlinearity, device, dtype };

export class RNNCell extends RNNCellBase {
  nonlinearity: 'tanh' | 'relu';

  constructor(
    ...passed: Args<
      [inputSize: number, hiddenSize: number, bias?: boolean, nonlinearity?: 'tanh' | 'relu', ...FactoryArgs],
      typeof rnnCell
    >
  ) {
    const given = read('RNNCell', rnnCell, passed);
    super(given, 1);
    this.nonlinearity = given.nonlinearity;
  }

  override forward(input: Tensor, ...more: [hx?: Hx<Tensor>]): Tensor {
    const op = this.nonlinearity === 'tanh' ? 'rnnTanhCell' : 'rnnReluCell';
    return this._step(input, more, (batch, hidden) => aten[op](batch, hidden, ...this._weights));
  }

  override extraRepr(): string {
    return `${super.extraRepr()}${this.nonlinearity === 'tanh' ? '' : `, nonlinearity=${this.nonlinearity}`}`;
  }
}

export class GRUCell extends RNNCellBase {
  constructor(...passed: Args<CellArgs, typeof cell>) {
    super(read('GRUCell', cell, passed), 3);
  }

  override forward(input: Tensor, ...more: [hx?: Hx<Tensor>]): Tensor {
    return this._step(input, more, (batch, hidden) => aten.gruCell(batch, hidden, ...this._weights));
  }
}

export class LSTMCell extends RNNCellBase {
  constructor(...passed: Args<CellArgs, typeof cell>) {
    super(read('LSTMCell', cell, passed), 4);
  }

  /** Gives the hidden state and the cell state. */
  override forward(input: Tensor, ...more: [hx?: Hx<readonly [Tensor, Tensor]>]): [Tensor, Tensor] {
    const batched = this._isBatched(input);
    const [hx] = further(forwardOf(this), pairSpec, more) as [[Tensor, Tensor] | null];
    return ownScope(() => {
      const batch = batched ? input : (input.unsqueeze(0) as Tensor);
      const zeros = hx === null ? this._zeros(batch) : null;
      const state = hx?.map((one) => (batched ? one : one.unsqueeze(0))) ?? [zeros, zeros];
      const [hidden, cellState] = aten.lstmCell(batch, state, ...this._weights);
      return batched ? [hidden, cellState] : [hidden.squeeze(0), cellState.squeeze(0)];
    });
  }
}
