/** Activations. */

import type { Same } from '../../types/algebra';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, num, orNull, read, type Spec, text } from './arguments';
import { takesInputs } from './hooks';
import { constant_ } from './init';
import { demandDims } from './inputs';
import { type FloatLayer, type LayerClass, layer, parameter, type ValueLayer } from './layer';
import type { FactoryArgs } from './linear';
import { Module } from './module';
import { aten, F } from './ops';
import type { Parameter } from './parameter';

const inplace = { inplace: flag(false) };
const inplaceText = ({ inplace }: { inplace: boolean }) => (inplace ? 'inplace=True' : '');
/** An activation without arguments other than `inplace`. */
const simple = (name: string): LayerClass<[inplace?: boolean], typeof inplace, ValueLayer> => {
  const op = name.charAt(0).toLowerCase() + name.slice(1);
  return layer<[inplace?: boolean], ValueLayer>()(name, inplace, {
    forward(input) {
      return F[op](input, this.inplace);
    },
    extra: inplaceText,
  });
};

/** An activation without arguments. */
const plain = (name: string, run: (input: Tensor) => any): LayerClass<[], Record<never, never>, ValueLayer> =>
  layer<[], ValueLayer>()(name, {}, { forward: (input) => run(input) });

/** The same, where integers become floats. */
const floating = (name: string, run: (input: Tensor) => any): LayerClass<[], Record<never, never>, FloatLayer> =>
  layer<[], FloatLayer>()(name, {}, { forward: (input) => run(input) });

/** An activation with arguments, `inplace` last; `extra` is the text without it. */
function withInplace<P extends unknown[], S extends Spec & typeof inplace>(
  name: string,
  spec: S,
  extra: string,
  run: (input: Tensor, module: any) => any,
): LayerClass<P, S, ValueLayer> {
  const names = Object.keys(spec).filter((key) => key !== 'inplace');
  return layer<P, ValueLayer>()(name, spec, {
    forward(input) {
      return run(input, this);
    },
    extra(values) {
      let at = 0;
      const start = extra.replaceAll('{}', () => {
        const key = names[at++]!;
        return spec[key]!.text((values as Record<string, unknown>)[key]);
      });
      return values.inplace ? `${start}, inplace=True` : start;
    },
  });
}

export const ReLU = layer<[inplace?: boolean], ValueLayer>()('ReLU', inplace, {
  forward(input) {
    return this.inplace ? F.relu_(input) : F.relu(input);
  },
  extra: inplaceText,
});
export type ReLU = InstanceType<typeof ReLU>;
export const ReLU6 = layer<[inplace?: boolean], ValueLayer>()(
  'ReLU6',
  { inplace: flag(false) },
  {
    forward(input) {
      return F.hardtanh(input, 0, 6, this.inplace);
    },
    extra: inplaceText,
  },
);
export type ReLU6 = InstanceType<typeof ReLU6>;
export const SELU = layer<[inplace?: boolean], ValueLayer>()('SELU', inplace, {
  forward(input) {
    return F.selu(input, this.inplace);
  },
  extra: inplaceText,
});
export type SELU = InstanceType<typeof SELU>;
export const SiLU = layer<[inplace?: boolean], ValueLayer>()('SiLU', inplace, {
  forward(input) {
    return F.silu(input, this.inplace);
  },
  extra: inplaceText,
});
export type SiLU = InstanceType<typeof SiLU>;
export const Mish = simple('Mish');
export type Mish = InstanceType<typeof Mish>;
export const Hardsigmoid = layer<[inplace?: boolean], ValueLayer>()('Hardsigmoid', inplace, {
  forward(input) {
    return F.hardsigmoid(input, this.inplace);
  },
});
export type Hardsigmoid = InstanceType<typeof Hardsigmoid>;
export const Hardswish = layer<[inplace?: boolean], ValueLayer>()('Hardswish', inplace, {
  forward(input) {
    return F.hardswish(input, this.inplace);
  },
});
export type Hardswish = InstanceType<typeof Hardswish>;

export const Sigmoid = floating('Sigmoid', (input) => aten.sigmoid(input));
export type Sigmoid = InstanceType<typeof Sigmoid>;
export const Tanh = floating('Tanh', (input) => aten.tanh(input));
export type Tanh = InstanceType<typeof Tanh>;
export const LogSigmoid = plain('LogSigmoid', (input) => F.logsigmoid(input));
export type LogSigmoid = InstanceType<typeof LogSigmoid>;
export const Softsign = floating('Softsign', (input) => F.softsign(input));
export type Softsign = InstanceType<typeof Softsign>;
export const Tanhshrink = floating('Tanhshrink', (input) => F.tanhshrink(input));
export type Tanhshrink = InstanceType<typeof Tanhshrink>;

const levels = { threshold: float(), value: float(), ...inplace };
export const Threshold = withInplace<[threshold: number, value: number, inplace?: boolean], typeof levels>(
  'Threshold',
  levels,
  'threshold={}, value={}',
  (input, m) => F.threshold(input, m.threshold, m.value, m.inplace),
);
export type Threshold = InstanceType<typeof Threshold>;
const slopes = { lower: float(1 / 8), upper: float(1 / 3), ...inplace };
export const RReLU = withInplace<[lower?: number, upper?: number, inplace?: boolean], typeof slopes>(
  'RReLU',
  slopes,
  'lower={}, upper={}',
  (input, m) => F.rrelu(input, m.lower, m.upper, m.training, m.inplace),
);
export type RReLU = InstanceType<typeof RReLU>;
const bounds = { minVal: float(-1), maxVal: float(1), ...inplace };
export const Hardtanh = withInplace<[minVal?: number, maxVal?: number, inplace?: boolean], typeof bounds>(
  'Hardtanh',
  bounds,
  'min_val={}, max_val={}',
  (input, m) => F.hardtanh(input, m.minVal, m.maxVal, m.inplace),
);
export type Hardtanh = InstanceType<typeof Hardtanh>;
const alpha = { alpha: float(1), ...inplace };
export const ELU = withInplace<[alpha?: number, inplace?: boolean], typeof alpha>(
  'ELU',
  alpha,
  'alpha={}',
  (input, m) => (m.inplace ? F.elu_(input, m.alpha) : F.elu(input, m.alpha)),
);
export type ELU = InstanceType<typeof ELU>;
export const CELU = withInplace<[alpha?: number, inplace?: boolean], typeof alpha>(
  'CELU',
  alpha,
  'alpha={}',
  (input, m) => F.celu(input, m.alpha, m.inplace),
);
export type CELU = InstanceType<typeof CELU>;
const slope = { negativeSlope: float(0.01), ...inplace };
export const LeakyReLU = withInplace<[negativeSlope?: number, inplace?: boolean], typeof slope>(
  'LeakyReLU',
  slope,
  'negative_slope={}',
  (input, m) => F.leakyRelu(input, m.negativeSlope, m.inplace),
);
export type LeakyReLU = InstanceType<typeof LeakyReLU>;

export const GLU = layer<[dim?: number]>()(
  'GLU',
  { dim: int(-1) },
  {
    forward(input) {
      return F.glu(input, this.dim);
    },
    extra: 'dim={dim}',
  },
);
export type GLU = InstanceType<typeof GLU>;
export const GELU = layer<[approximate?: 'none' | 'tanh'], ValueLayer>()(
  'GELU',
  { approximate: text<'none' | 'tanh'>('none', ['none', 'tanh']) },
  {
    forward(input) {
      return F.gelu(input, { approximate: this.approximate });
    },
    extra: 'approximate={approximate}',
  },
);
export type GELU = InstanceType<typeof GELU>;
export const Hardshrink = layer<[lambd?: number], ValueLayer>()(
  'Hardshrink',
  { lambd: float(0.5) },
  {
    forward(input) {
      return F.hardshrink(input, this.lambd);
    },
    extra: '{lambd}',
  },
);
export type Hardshrink = InstanceType<typeof Hardshrink>;
export const Softshrink = layer<[lambd?: number], ValueLayer>()(
  'Softshrink',
  { lambd: float(0.5) },
  {
    forward(input) {
      return F.softshrink(input, this.lambd);
    },
    extra: '{lambd}',
  },
);
export type Softshrink = InstanceType<typeof Softshrink>;
export const Softplus = layer<[beta?: number, threshold?: number], ValueLayer>()(
  'Softplus',
  { beta: num(1), threshold: num(20) },
  {
    forward(input) {
      return F.softplus(input, this.beta, this.threshold);
    },
    extra: 'beta={beta}, threshold={threshold}',
  },
);
export type Softplus = InstanceType<typeof Softplus>;

const dim = { dim: orNull(int()) };
const softmax = (name: string, extra: string) =>
  layer<[dim?: number | null], ValueLayer>()(name, dim, {
    forward(input) {
      const op = name.charAt(0).toLowerCase() + name.slice(1);
      // Without a dimension the functional form chooses one, with a warning.
      return this.dim === null ? F[op](input) : F[op](input, this.dim);
    },
    extra,
  });
export const Softmax = softmax('Softmax', 'dim={dim}');
export type Softmax = InstanceType<typeof Softmax>;
export const LogSoftmax = softmax('LogSoftmax', 'dim={dim}');
export type LogSoftmax = InstanceType<typeof LogSoftmax>;
export const Softmin = softmax('Softmin', 'dim={dim}');
export type Softmin = InstanceType<typeof Softmin>;
export const Softmax2d = layer<[], ValueLayer>()(
  'Softmax2d',
  {},
  {
    forward(input) {
      demandDims(this, input, [3, 4]); // of other dimensions, -3 may not be that of the channels
      return F.softmax(input, -3);
    },
  },
);
export type Softmax2d = InstanceType<typeof Softmax2d>;

const prelu = { numParameters: int(1), init: float(0.25), ...factory };

/** `max(0, x) + weight * min(0, x)` */
export class PReLU extends Module {
  numParameters: number;
  init: number;
  weight: Parameter;
  /** For the compiler: what `forward` does with shapes. */
  declare readonly _rule?: readonly ['same', 'PReLU'];

  constructor(...passed: Args<[numParameters?: number, init?: number, ...FactoryArgs], typeof prelu>) {
    super();
    const given = read('PReLU', prelu, passed);
    this.numParameters = given.numParameters;
    this.init = given.init;
    this.weight = parameter([given.numParameters], given);
    this.resetParameters();
  }

  resetParameters(): void {
    constant_(this.weight, this.init);
  }

  override forward<T extends Tensor>(input: T): Same<T> {
    return F.prelu(input, this.weight);
  }

  override extraRepr(): string {
    return `num_parameters=${this.numParameters}`;
  }
}

takesInputs(PReLU);
