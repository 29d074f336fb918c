/** One step of recurrent layers. */
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { type Args, type Factory, factory, flag, int, nameOf, read, text } from './arguments';
import { uniform_ } from './init';
import { parameter } from './layer';
import type { FactoryArgs } from './linear';
import { Module, name as pythonNames } from './module';
import { aten } from './ops';
import type { Parameter } from './parameter';

const cell = { inputSize: int(), hiddenSize: int(), bias: flag(true), ...factory };
type CellArgs = [inputSize: number, hiddenSize: number, bias?: boolean, ...FactoryArgs];
type Options = Factory & { inputSize: number; hiddenSize: number; bias: boolean };

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

  /** @internal Runs one step on a batch; the input may be without one. */
  _step(input: Tensor, hidden: Tensor | null, run: (input: Tensor, hidden: Tensor) => Tensor): Tensor {
    return ownScope(() => {
      if (this._isBatched(input)) return run(input, hidden ?? this._zeros(input));
      const batch = input.unsqueeze(0) as Tensor;
      return run(batch, (hidden?.unsqueeze(0) as Tensor | undefined) ?? this._zeros(batch)).squeeze(0) as Tensor;
    });
  }

  private _isBatched(input: Tensor): boolean {
    if (input.ndim === 1 || input.ndim === 2) return input.ndim === 2;
    throw argumentError(`${nameOf(this.constructor.name)}.forward`, 'input', 'a Tensor of 1 or 2 dimensions', input);
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

  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    const op = this.nonlinearity === 'tanh' ? 'rnnTanhCell' : 'rnnReluCell';
    return this._step(input, hx, (batch, hidden) => aten[op](batch, hidden, ...this._weights));
  }

  override extraRepr(): string {
    return `${super.extraRepr()}${this.nonlinearity === 'tanh' ? '' : `, nonlinearity=${this.nonlinearity}`}`;
  }
}

export class GRUCell extends RNNCellBase {
  constructor(...passed: Args<CellArgs, typeof cell>) {
    super(read('GRUCell', cell, passed), 3);
  }

  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    return this._step(input, hx, (batch, hidden) => aten.gruCell(batch, hidden, ...this._weights));
  }
}

export class LSTMCell extends RNNCellBase {
  constructor(...passed: Args<CellArgs, typeof cell>) {
    super(read('LSTMCell', cell, passed), 4);
  }

  /** Gives the hidden state and the cell state. */
  override forward(input: Tensor, hx: readonly [Tensor, Tensor] | null = null): [Tensor, Tensor] {
    if (input.ndim !== 1 && input.ndim !== 2) {
      throw argumentError('nn.LSTMCell.forward', 'input', 'a Tensor of 1 or 2 dimensions', input);
    }
    const batched = input.ndim === 2;
    return ownScope(() => {
      const batch = batched ? input : (input.unsqueeze(0) as Tensor);
      const zeros = hx === null ? this._zeros(batch) : null;
      const state = hx?.map((one) => (batched ? one : one.unsqueeze(0))) ?? [zeros, zeros];
      const [hidden, cellState] = aten.lstmCell(batch, state, ...this._weights);
      return batched ? [hidden, cellState] : [hidden.squeeze(0), cellState.squeeze(0)];
    });
  }
}
