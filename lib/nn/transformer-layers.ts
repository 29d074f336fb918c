/** The layers of the Transformer family. */
import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { additive } from '../public/nn/attention';
import { isTensor, type Tensor } from '../tensor/tensor';
import { GELU, ReLU } from './activations';
import { type Args, factory, flag, float, int, type Kind, nameOf, read, tensor, type Values } from './arguments';
import { MultiheadAttention, mergedMasks, records, withHints } from './attention';
import { Dropout } from './dropout';
import { demandTensor, type Further, forwardOf, further } from './inputs';
import { type FactoryArgs, Linear } from './linear';
import { Module } from './module';
import { LayerNorm } from './normalization';
import { aten, F } from './ops';
import { biasIsPositional, sumsMasks } from './release';

export type Mask = Tensor | null;
export type Activation = 'relu' | 'gelu' | Module | ((x: Tensor) => Tensor);

export const activation: Kind<Activation> = {
  expected: "'relu', 'gelu', a Module or a function",
  required: false,
  value: 'relu',
  convert: (value) =>
    value === 'relu' || value === 'gelu' || value instanceof Module || typeof value === 'function'
      ? (value as Activation)
      : undefined,
  text: () => '',
};
/** `bias` is before `device` by position from 2.1 on. By name, every release has it. */
export const lastArguments = biasIsPositional ? { bias: flag(true), ...factory } : { ...factory, bias: flag(true) };

export const layerSpec = {
  dModel: int(),
  nhead: int(),
  dimFeedforward: int(2048),
  dropout: float(0.1),
  activation,
  layerNormEps: float(1e-5),
  batchFirst: flag(false),
  normFirst: flag(false),
  ...lastArguments,
};
type LayerArgs = [
  dModel: number,
  nhead: number,
  dimFeedforward?: number,
  dropout?: number,
  activation?: Activation,
  layerNormEps?: number,
  batchFirst?: boolean,
  normFirst?: boolean,
  ...FactoryArgs,
];

/** Python's numbers of the activations that its fused op has: 1 for ReLU, 2 for GELU, 0 for others. */
function fusedKind(given: Activation): number {
  if (given === 'relu' || given === F.relu || given instanceof ReLU) return 1;
  return given === 'gelu' || given === F.gelu || given instanceof GELU ? 2 : 0;
}

/** What encoder and decoder layers have in common. */
abstract class Block extends Module {
  selfAttn: MultiheadAttention;
  declare linear1: Linear;
  declare dropout: Dropout;
  declare linear2: Linear;
  declare normFirst: boolean;
  declare norm1: LayerNorm;
  declare norm2: LayerNorm;
  declare activation: Module | ((x: Tensor) => Tensor);

  /** @internal */
  constructor(given: Values<typeof layerSpec>) {
    super();
    const { dModel, nhead, dropout, batchFirst, bias, device, dtype } = given;
    this.selfAttn = new MultiheadAttention(dModel, nhead, { dropout, batchFirst, bias, device, dtype });
  }

  /** @internal The parts after the attentions, in Python's order. */
  _makeRest({
    dModel,
    dimFeedforward,
    dropout,
    normFirst,
    layerNormEps,
    bias,
    device,
    dtype,
  }: Values<typeof layerSpec>): void {
    this.linear1 = new Linear(dModel, dimFeedforward, { bias, device, dtype });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel, { bias, device, dtype });
    this.normFirst = normFirst;
    this.norm1 = new LayerNorm(dModel, { eps: layerNormEps, bias, device, dtype });
    this.norm2 = new LayerNorm(dModel, { eps: layerNormEps, bias, device, dtype });
  }

  /** @internal */
  _setActivation(given: Activation): void {
    this.activation = typeof given === 'string' ? F[given] : given;
  }

  /** @internal */
  _forwardBlock(x: Tensor, last: Dropout): Tensor {
    const { activation: act } = this;
    const wide = this.linear1.forward(x);
    const active = act instanceof Module ? act.forward(wide) : act(wide);
    if (!isTensor(active)) {
      throw argumentError(nameOf(this.constructor.name), 'activation', 'a function that returns a Tensor', active);
    }
    return last.forward(this.linear2.forward(this.dropout.forward(active)));
  }
}

Object.defineProperty(Block.prototype, '_names', { value: { selfAttn: 'self_attn', multiheadAttn: 'multihead_attn' } });

const encoderMasks = withHints({ srcMask: tensor, srcKeyPaddingMask: tensor }, 'isCausal');

/** Whether a module or one inside it has hooks that a fused op would not call. */
const isHooked = (layer: Module) =>
  [...layer.modules()].some(({ _callHooks: calls }) => calls !== null && calls.pre.size + calls.after.size > 0);

export interface EncoderLayerOptions {
  srcMask?: Mask | undefined;
  srcKeyPaddingMask?: Mask | undefined;
  /** A hint that `srcMask` is causal; from libtorch 2 on. */
  isCausal?: boolean | undefined;
}
export type EncoderLayerInputs = Further<
  [srcMask?: Mask | undefined, srcKeyPaddingMask?: Mask | undefined, isCausal?: boolean | undefined],
  EncoderLayerOptions
>;

export class TransformerEncoderLayer extends Block {
  declare dropout1: Dropout;
  declare dropout2: Dropout;
  /** @internal */
  declare readonly _fused: number;

  constructor(...passed: Args<LayerArgs, typeof layerSpec>) {
    const given = read('TransformerEncoderLayer', layerSpec, passed);
    super(given);
    this._makeRest(given);
    this.dropout1 = new Dropout(given.dropout);
    this.dropout2 = new Dropout(given.dropout);
    Object.defineProperty(this, '_fused', { value: fusedKind(given.activation) });
    this._setActivation(given.activation);
  }

  override forward(src: Tensor, ...more: EncoderLayerInputs): Tensor {
    demandTensor(this, 'src', src);
    const [mask, padding, causal = null] = further(forwardOf(this), encoderMasks, more) as [
      Mask,
      Mask,
      boolean | null | undefined,
    ];
    if ((mask === null || sumsMasks) && this._isFast(src) && !(sumsMasks && isHooked(this))) {
      return this._fast(src, mask, padding);
    }
    const asFloats = (one: Mask) => (sumsMasks && one !== null ? additive(one, src) : one);
    return ownScope(() => {
      // Python's layer passes them on as floats, with which the attention inside uses no fused op.
      const [toAdd, keysToAdd] = [mask, padding].map(asFloats) as [Mask, Mask];
      if (this.normFirst) {
        const x = src.add(this._attend(this.norm1.forward(src), toAdd, keysToAdd, causal)) as Tensor;
        return x.add(this._forwardBlock(this.norm2.forward(x), this.dropout2)) as Tensor;
      }
      const x = this.norm1.forward(src.add(this._attend(src, toAdd, keysToAdd, causal)) as Tensor);
      return this.norm2.forward(x.add(this._forwardBlock(x, this.dropout2)) as Tensor);
    });
  }

  private _attend(x: Tensor, mask: Mask, padding: Mask, causal: boolean | null): Tensor {
    return this.dropout1.forward(attended(this.selfAttn, x, x, mask, padding, causal));
  }

  /** @internal Python's conditions for its fused op, whose results differ in the last bits. */
  _isFast(src: Tensor): boolean {
    const { selfAttn, norm1, norm2 } = this;
    if (src.ndim !== 3 || this.training || !selfAttn.batchFirst || !selfAttn._sameSizes || this._fused === 0)
      return false;
    if (norm1.eps !== norm2.eps || selfAttn.numHeads % 2 === 1) return false;
    if (native.autocastEnabled(true)) return false;
    const weights = this._weights();
    return !weights.includes(null) && !records([src, ...weights]);
  }

  private _weights(): (Tensor | null)[] {
    const { selfAttn, norm1, norm2, linear1, linear2 } = this;
    const { inProjWeight, inProjBias, outProj } = selfAttn;
    const layers = [outProj, norm1, norm2, linear1, linear2];
    return [inProjWeight, inProjBias, ...layers.flatMap(({ weight, bias }) => [weight, bias])];
  }

  private _fast(src: Tensor, srcMask: Mask, padding: Mask): Tensor {
    const [inWeight, inBias, outWeight, outBias, ...others] = this._weights();
    const { embedDim, numHeads } = this.selfAttn;
    return ownScope(() => {
      const [mask, kind] = mergedMasks(src, srcMask, padding, numHeads);
      return aten._transformerEncoderLayerFwd(
        src,
        embedDim,
        numHeads,
        inWeight,
        inBias,
        outWeight,
        outBias,
        this._fused === 2,
        this.normFirst,
        this.norm1.eps,
        ...others,
        mask,
        kind,
      );
    });
  }
}

/** Attention in a layer, without its weights. */
function attended(
  attention: MultiheadAttention,
  x: Tensor,
  to: Tensor,
  attnMask: Mask,
  keyPaddingMask: Mask,
  causal: boolean | null,
): Tensor {
  const hint = sumsMasks ? { isCausal: causal ?? false } : {};
  return attention.forward(x, to, to, { attnMask, keyPaddingMask, needWeights: false, ...hint })[0];
}

export const decoderMasks = withHints(
  { tgtMask: tensor, memoryMask: tensor, tgtKeyPaddingMask: tensor, memoryKeyPaddingMask: tensor },
  'tgtIsCausal',
  'memoryIsCausal',
);

export interface DecoderLayerOptions {
  tgtMask?: Mask | undefined;
  memoryMask?: Mask | undefined;
  tgtKeyPaddingMask?: Mask | undefined;
  memoryKeyPaddingMask?: Mask | undefined;
  /** A hint that `tgtMask` is causal; from libtorch 2 on, like the next. */
  tgtIsCausal?: boolean | undefined;
  /** A hint that `memoryMask` is causal. */
  memoryIsCausal?: boolean | undefined;
}
export type DecoderInputs = Further<
  [
    tgtMask?: Mask | undefined,
    memoryMask?: Mask | undefined,
    tgtKeyPaddingMask?: Mask | undefined,
    memoryKeyPaddingMask?: Mask | undefined,
    tgtIsCausal?: boolean | null | undefined,
    memoryIsCausal?: boolean | null | undefined,
  ],
  DecoderLayerOptions
>;
/** The arguments of a decoder after its tensors. */
export type DecoderGiven = [Mask, Mask, Mask, Mask, (boolean | null)?, (boolean | null)?];

export class TransformerDecoderLayer extends Block {
  declare multiheadAttn: MultiheadAttention;
  declare norm3: LayerNorm;
  declare dropout1: Dropout;
  declare dropout2: Dropout;
  declare dropout3: Dropout;

  constructor(...passed: Args<LayerArgs, typeof layerSpec>) {
    const given = read('TransformerDecoderLayer', layerSpec, passed);
    super(given);
    const { dModel, nhead, dropout, batchFirst, layerNormEps, bias, device, dtype } = given;
    this.multiheadAttn = new MultiheadAttention(dModel, nhead, { dropout, batchFirst, bias, device, dtype });
    this._makeRest(given);
    this.norm3 = new LayerNorm(dModel, { eps: layerNormEps, bias, device, dtype });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.dropout3 = new Dropout(dropout);
    this._setActivation(given.activation);
  }

  override forward(tgt: Tensor, memory: Tensor, ...more: DecoderInputs): Tensor {
    demandTensor(this, 'tgt', tgt);
    demandTensor(this, 'memory', memory);
    const given = further(forwardOf(this), decoderMasks, more) as DecoderGiven;
    const [mask, memoryMask, padding, memoryPadding, causal = null, memoryCausal = null] = given;
    const { selfAttn, multiheadAttn, norm1, norm2, norm3, dropout3 } = this;
    const attend = (x: Tensor) => this.dropout1.forward(attended(selfAttn, x, x, mask, padding, causal));
    const cross = (x: Tensor) =>
      this.dropout2.forward(attended(multiheadAttn, x, memory, memoryMask, memoryPadding, memoryCausal));
    return ownScope(() => {
      if (this.normFirst) {
        let x = tgt.add(attend(norm1.forward(tgt))) as Tensor;
        x = x.add(cross(norm2.forward(x))) as Tensor;
        return x.add(this._forwardBlock(norm3.forward(x), dropout3)) as Tensor;
      }
      let x = norm1.forward(tgt.add(attend(tgt)) as Tensor);
      x = norm2.forward(x.add(cross(x)) as Tensor);
      return norm3.forward(x.add(this._forwardBlock(x, dropout3)) as Tensor);
    });
  }
}
