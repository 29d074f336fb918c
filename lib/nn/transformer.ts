/** Stacks of the Transformer family's layers. */
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { additive } from '../public/nn/attention';
import type { Tensor } from '../tensor/tensor';
import { type Args, flag, float, int, nameOf, orNull, read, tensor } from './arguments';
import { withHints } from './attention';
import { ModuleList } from './containers';
import { moduleLike } from './given';
import { xavierUniform_ } from './init';
import { demandTensor, type Further, forwardOf, further } from './inputs';
import type { FactoryArgs } from './linear';
import { Module } from './module';
import { LayerNorm } from './normalization';
import { aten } from './ops';
import { sumsMasks } from './release';
import {
  type Activation,
  activation,
  type DecoderGiven,
  type DecoderInputs,
  type DecoderLayerOptions,
  decoderMasks,
  lastArguments,
  layerSpec,
  type Mask,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
} from './transformer-layers';

const custom = orNull(moduleLike);

const decoderRest = { numLayers: int(), norm: custom };
const encoderRest = { ...decoderRest, enableNestedTensor: flag(true), maskCheck: flag(true) };
const encoderSpec = { encoderLayer: moduleLike, ...encoderRest };
const decoderSpec = { decoderLayer: moduleLike, ...decoderRest };
type DecoderTail = [numLayers: number, norm?: Module | null];
type EncoderTail = [...DecoderTail, enableNestedTensor?: boolean, maskCheck?: boolean];
/** The arguments of the stacks after their layer. */
export type EncoderArgs = Args<EncoderTail, typeof encoderRest>;
export type DecoderArgs = Args<DecoderTail, typeof decoderRest>;

/** Layers with weights of their own, like those of `layer`. */
function clones(name: string, layer: Module, count: number): ModuleList {
  if (count < 0) throw argumentError(nameOf(name), 'numLayers', 'an integer of 0 or more', count);
  return new ModuleList(Array.from({ length: count }, () => layer.deepCopy()));
}

export interface EncoderOptions {
  mask?: Mask | undefined;
  srcKeyPaddingMask?: Mask | undefined;
  /** Whether `mask` is causal; from libtorch 2 on. Default: it is compared with a causal one. */
  isCausal?: boolean | null | undefined;
}
export type EncoderInputs = Further<
  [mask?: Mask | undefined, srcKeyPaddingMask?: Mask | undefined, isCausal?: boolean | null | undefined],
  EncoderOptions
>;
const encoderMasks = withHints({ mask: tensor, srcKeyPaddingMask: tensor }, 'isCausal');

/** Whether a mask is causal, from the hint or else by comparison. Python's _detect_is_causal_mask. */
function isCausalMask(mask: Mask, hint: boolean | null | undefined, input: Tensor, batchFirst: boolean): boolean {
  if (!sumsMasks || mask === null || (hint ?? null) !== null) return hint ?? false;
  const size = input.shape[input.ndim === 3 && batchFirst ? 1 : 0]!;
  if (mask.ndim !== 2 || mask.shape.some((length) => length !== size)) return false;
  return ownScope(() => Boolean((mask.eq(causalMask(size, mask)) as Tensor).all().item()));
}

/** -inf above the diagonal, in the dtype of another mask. */
const causalMask = (size: number, like?: Tensor) => {
  const options = like === undefined ? {} : { dtype: like.dtype, device: like.device };
  return aten.full([size, size], Number.NEGATIVE_INFINITY, options).triu(1) as Tensor;
};

const isBatchFirst = (layer: Module | undefined): boolean =>
  (layer as { selfAttn?: { batchFirst?: boolean } } | undefined)?.selfAttn?.batchFirst ?? false;

export class TransformerEncoder extends Module {
  layers: ModuleList;
  numLayers: number;
  norm: Module | null;
  enableNestedTensor: boolean;
  maskCheck: boolean;

  constructor(...passed: Args<[encoderLayer: Module, ...EncoderTail], typeof encoderSpec>) {
    super();
    const given = read('TransformerEncoder', encoderSpec, passed);
    this.layers = clones('TransformerEncoder', given.encoderLayer, given.numLayers);
    this.numLayers = given.numLayers;
    this.norm = given.norm;
    this.enableNestedTensor = given.enableNestedTensor;
    this.maskCheck = given.maskCheck;
  }

  override forward(src: Tensor, ...more: EncoderInputs): Tensor {
    demandTensor(this, 'src', src);
    const given = further(forwardOf(this), encoderMasks, more);
    const [srcMask, padding, hint] = given as [Mask, Mask, boolean | null | undefined];
    return ownScope(() => {
      const nested = srcMask === null && padding !== null && this._nests(src, padding);
      let output = nested ? (aten._nestedTensorFromMask(src, padding.logicalNot(), false) as Tensor) : src;
      const mask = sumsMasks && srcMask !== null ? additive(srcMask, src) : srcMask;
      const isCausal = isCausalMask(mask, hint, src, isBatchFirst(this.layers.at(0)));
      const masks = { srcMask: mask, srcKeyPaddingMask: nested ? null : padding, ...(sumsMasks ? { isCausal } : {}) };
      for (const layer of this.layers) output = layer.forward(output, masks);
      if (nested) output = (output as any).toPaddedTensor(0, ...(sumsMasks ? [src.shape] : [])) as Tensor;
      return this.norm === null ? output : this.norm.forward(output);
    }, false);
  }

  /** Python's conditions for skipping padded positions, whose results are then 0. */
  private _nests(src: Tensor, padding: Tensor): boolean {
    const first = this.layers.at(0);
    if (!(first instanceof TransformerEncoderLayer) || first.normFirst || !this.enableNestedTensor) return false;
    if (!first._isFast(src)) return false;
    return !this.maskCheck || Boolean(aten._nestedTensorFromMaskLeftAligned(src, padding.logicalNot()));
  }
}

export class TransformerDecoder extends Module {
  layers: ModuleList;
  numLayers: number;
  norm: Module | null;

  constructor(...passed: Args<[decoderLayer: Module, ...DecoderTail], typeof decoderSpec>) {
    super();
    const given = read('TransformerDecoder', decoderSpec, passed);
    this.layers = clones('TransformerDecoder', given.decoderLayer, given.numLayers);
    this.numLayers = given.numLayers;
    this.norm = given.norm;
  }

  override forward(tgt: Tensor, memory: Tensor, ...more: DecoderInputs): Tensor {
    demandTensor(this, 'tgt', tgt);
    demandTensor(this, 'memory', memory);
    const [mask, memoryMask, padding, memoryPadding, hint, memoryIsCausal] = further(
      forwardOf(this),
      decoderMasks,
      more,
    ) as DecoderGiven;
    return ownScope(() => {
      let output = tgt;
      const tgtIsCausal = isCausalMask(mask, hint, tgt, isBatchFirst(this.layers.at(0)));
      const hints = sumsMasks ? [tgtIsCausal, memoryIsCausal ?? false] : [];
      const masks = [mask, memoryMask, padding, memoryPadding, ...hints];
      for (const layer of this.layers) output = layer.forward(output, memory, ...masks);
      return this.norm === null ? output : this.norm.forward(output);
    }, false);
  }
}

const { layerNormEps, batchFirst, normFirst } = layerSpec;
const transformer = {
  dModel: int(512),
  nhead: int(8),
  numEncoderLayers: int(6),
  numDecoderLayers: int(6),
  dimFeedforward: int(2048),
  dropout: float(0.1),
  activation,
  customEncoder: custom,
  customDecoder: custom,
  layerNormEps,
  batchFirst,
  normFirst,
  ...lastArguments,
};

export interface TransformerOptions extends DecoderLayerOptions {
  srcMask?: Mask | undefined;
  srcKeyPaddingMask?: Mask | undefined;
  /** Whether `srcMask` is causal; from libtorch 2 on, as for the encoder. */
  srcIsCausal?: boolean | null | undefined;
}
export type TransformerInputs = Further<
  [
    srcMask?: Mask | undefined,
    tgtMask?: Mask | undefined,
    memoryMask?: Mask | undefined,
    srcKeyPaddingMask?: Mask | undefined,
    tgtKeyPaddingMask?: Mask | undefined,
    memoryKeyPaddingMask?: Mask | undefined,
    srcIsCausal?: boolean | null | undefined,
    tgtIsCausal?: boolean | null | undefined,
    memoryIsCausal?: boolean | null | undefined,
  ],
  TransformerOptions
>;
const transformerMasks = withHints(
  {
    srcMask: tensor,
    tgtMask: tensor,
    memoryMask: tensor,
    srcKeyPaddingMask: tensor,
    tgtKeyPaddingMask: tensor,
    memoryKeyPaddingMask: tensor,
  },
  'srcIsCausal',
  'tgtIsCausal',
  'memoryIsCausal',
);

export class Transformer extends Module {
  encoder: Module;
  decoder: Module;
  dModel: number;
  nhead: number;
  batchFirst: boolean;

  constructor(
    ...passed: Args<
      [
        dModel?: number,
        nhead?: number,
        numEncoderLayers?: number,
        numDecoderLayers?: number,
        dimFeedforward?: number,
        dropout?: number,
        activation?: Activation,
        customEncoder?: Module | null,
        customDecoder?: Module | null,
        layerNormEps?: number,
        batchFirst?: boolean,
        normFirst?: boolean,
        ...FactoryArgs,
      ],
      typeof transformer
    >
  ) {
    super();
    const given = read('Transformer', transformer, passed);
    const { customEncoder, customDecoder, numEncoderLayers, numDecoderLayers, ...others } = given;
    const { layerNormEps: eps, bias, device, dtype } = given;
    const norm = () => new LayerNorm(given.dModel, { eps, bias, device, dtype });
    this.encoder =
      customEncoder ?? fromLayer(TransformerEncoder, new TransformerEncoderLayer(others), numEncoderLayers, norm());
    this.decoder =
      customDecoder ?? fromLayer(TransformerDecoder, new TransformerDecoderLayer(others), numDecoderLayers, norm());
    for (const parameter of this.parameters()) if (parameter.ndim > 1) xavierUniform_(parameter);
    this.dModel = given.dModel;
    this.nhead = given.nhead;
    this.batchFirst = given.batchFirst;
  }

  override forward(src: Tensor, tgt: Tensor, ...more: TransformerInputs): Tensor {
    demandTensor(this, 'src', src);
    demandTensor(this, 'tgt', tgt);
    const at = forwardOf(this);
    const given = further(at, transformerMasks, more);
    const [srcMask, tgtMask, memoryMask, srcPadding, tgtPadding, memoryPadding, ...hints] = given;
    const [srcHints, targetHints] = [hints.slice(0, 1), hints.slice(1)];
    const batched = src.ndim === 3;
    const batch = this.batchFirst ? 0 : 1;
    if (batched && src.shape[batch] !== tgt.shape[batch]) {
      throw argumentError(at, 'tgt', `a batch of ${src.shape[batch]}, as in src`, tgt);
    }
    for (const [name, tensor] of [['src', src] as const, ['tgt', tgt] as const]) {
      if (tensor.shape.at(-1) !== this.dModel) throw argumentError(at, name, `${this.dModel} as the last size`, tensor);
    }
    return ownScope(() => {
      const memory = this.encoder.forward(src, srcMask, srcPadding, ...srcHints);
      return this.decoder.forward(tgt, memory, tgtMask, memoryMask, tgtPadding, memoryPadding, ...targetHints);
    }, false);
  }

  /** A mask that lets each position attend to those before it. */
  static generateSquareSubsequentMask(size: number): Tensor {
    return ownScope(() => causalMask(size));
  }

  generateSquareSubsequentMask(size: number): Tensor {
    return Transformer.generateSquareSubsequentMask(size);
  }
}

/** A stack of copies of a layer, whose own weights are released. */
function fromLayer<T>(
  stack: new (layer: Module, count: number, norm: Module) => T,
  layer: Module,
  count: number,
  norm: Module,
): T {
  try {
    return new stack(layer, count, norm);
  } finally {
    layer.dispose();
  }
}
