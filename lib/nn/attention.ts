/** Attention. */

import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { additive } from '../public/nn/attention';
import { isPendingTensor, refuseReplay, withoutRecording } from '../tensor/pending';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, nameOf, orNull, read, type Spec, tensor } from './arguments';
import { constant_, xavierNormal_, xavierUniform_ } from './init';
import { demandTensor, type Further, forwardOf, further } from './inputs';
import { parameter } from './layer';
import { type FactoryArgs, Linear } from './linear';
import { Module, name as pythonNames } from './module';
import { aten, F } from './ops';
import type { Parameter } from './parameter';
import { sumsMasks } from './release';

/** The class that Python uses for the output projection. */
const NonDynamicallyQuantizableLinear = class NonDynamicallyQuantizableLinear extends Linear {};

const spec = {
  embedDim: int(),
  numHeads: int(),
  dropout: float(0),
  bias: flag(true),
  addBiasKv: flag(false),
  addZeroAttn: flag(false),
  kdim: orNull(int()),
  vdim: orNull(int()),
  batchFirst: flag(false),
  ...factory,
};

export interface AttentionOptions {
  keyPaddingMask?: Tensor | null | undefined;
  needWeights?: boolean | undefined;
  attnMask?: Tensor | null | undefined;
  averageAttnWeights?: boolean | undefined;
  /** A hint that `attnMask` is causal; from libtorch 2 on. */
  isCausal?: boolean | undefined;
}
export type AttentionInputs = Further<
  [
    keyPaddingMask?: Tensor | null | undefined,
    needWeights?: boolean | undefined,
    attnMask?: Tensor | null | undefined,
    averageAttnWeights?: boolean | undefined,
    isCausal?: boolean | undefined,
  ],
  AttentionOptions
>;

/** The options that `isCausal` is added to, from libtorch 2 on. */
export const withHints = (options: Spec, ...hints: string[]): Spec =>
  sumsMasks ? { ...options, ...Object.fromEntries(hints.map((name) => [name, flag()])) } : options;

const options = withHints(
  { keyPaddingMask: tensor, needWeights: flag(), attnMask: tensor, averageAttnWeights: flag() },
  'isCausal',
);

/** The masks of Python's fused ops and their kind: over keys 1, another 0 or 2, none null. */
export function mergedMasks(
  query: Tensor,
  mask: Tensor | null,
  padding: Tensor | null,
  heads: number,
): [mask: Tensor | null, kind: number | null] {
  if (!sumsMasks) return [padding ?? mask, padding !== null ? 1 : mask !== null ? 0 : null];
  const keys = padding === null ? null : additive(padding, query);
  if (mask === null) return [keys, keys === null ? null : 1];
  const [batch, length] = query.shape as [number, number];
  const float = additive(mask, query);
  const wide =
    float.ndim === 3
      ? float.view([batch, -1, length, length])
      : float.view([1, 1, length, length]).expand([batch, heads, -1, -1]);
  if (keys === null) return [wide as Tensor, 2];
  return [wide.add(keys.view([batch, 1, 1, length]).expand([-1, heads, -1, -1])) as Tensor, 2];
}

/**
 * Whether gradients through one of the tensors are recorded. Of a pending tensor that is not known: torch.run goes by the op that
 * records them, and torch.capture does not replay the call.
 */
export function records(tensors: readonly (Tensor | null)[]): boolean {
  if (!native.gradEnabled()) return false;
  const requires = (one: Tensor | null) => one !== null && one._handle > 0 && native.requiresGrad(one._handle);
  // Now, also if a recorded op will write the values, as the first ones of a layer that was made in torch.run.
  if (withoutRecording(() => tensors.some(requires))) return true;
  const isPending = tensors.some((one) => one !== null && isPendingTensor(one));
  if (isPending) refuseReplay('it calls an attention layer without gradients on a result of an op');
  return isPending;
}

export class MultiheadAttention extends Module {
  embedDim: number;
  kdim: number;
  vdim: number;
  numHeads: number;
  dropout: number;
  batchFirst: boolean;
  headDim: number;
  inProjWeight: Parameter | null = null;
  qProjWeight: Parameter | null = null;
  kProjWeight: Parameter | null = null;
  vProjWeight: Parameter | null = null;
  inProjBias: Parameter | null;
  outProj: Linear;
  biasK: Parameter | null;
  biasV: Parameter | null;
  addZeroAttn: boolean;

  constructor(
    ...passed: Args<
      [
        embedDim: number,
        numHeads: number,
        dropout?: number,
        bias?: boolean,
        addBiasKv?: boolean,
        addZeroAttn?: boolean,
        kdim?: number | null,
        vdim?: number | null,
        batchFirst?: boolean,
        ...FactoryArgs,
      ],
      typeof spec
    >
  ) {
    super();
    const given = read('MultiheadAttention', spec, passed);
    const { embedDim, numHeads, bias, addBiasKv } = given;
    if (numHeads < 1 || embedDim % numHeads !== 0) {
      throw argumentError(nameOf('MultiheadAttention'), 'numHeads', `a divisor of embedDim, ${embedDim}`, numHeads);
    }
    this.embedDim = embedDim;
    this.kdim = given.kdim ?? embedDim;
    this.vdim = given.vdim ?? embedDim;
    this.numHeads = numHeads;
    this.dropout = given.dropout;
    this.batchFirst = given.batchFirst;
    this.headDim = embedDim / numHeads;
    if (this._sameSizes) this.inProjWeight = parameter([3 * embedDim, embedDim], given);
    else {
      this.qProjWeight = parameter([embedDim, embedDim], given);
      this.kProjWeight = parameter([embedDim, this.kdim], given);
      this.vProjWeight = parameter([embedDim, this.vdim], given);
    }
    this.inProjBias = bias ? parameter([3 * embedDim], given) : null;
    const { device, dtype } = given;
    this.outProj = new NonDynamicallyQuantizableLinear(embedDim, embedDim, { bias, device, dtype });
    this.biasK = addBiasKv ? parameter([1, 1, embedDim], given) : null;
    this.biasV = addBiasKv ? parameter([1, 1, embedDim], given) : null;
    this.addZeroAttn = given.addZeroAttn;
    this.resetParameters();
  }

  /** @internal */
  get _sameSizes(): boolean {
    return this.kdim === this.embedDim && this.vdim === this.embedDim;
  }

  resetParameters(): void {
    for (const weight of [this.inProjWeight, this.qProjWeight, this.kProjWeight, this.vProjWeight]) {
      if (weight !== null) xavierUniform_(weight);
    }
    if (this.inProjBias !== null) {
      constant_(this.inProjBias, 0);
      constant_(this.outProj.bias!, 0);
    }
    if (this.biasK !== null) xavierNormal_(this.biasK);
    if (this.biasV !== null) xavierNormal_(this.biasV);
  }

  /** Gives the result, and the weights of attention unless `needWeights` is false. */
  override forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ...more: AttentionInputs
  ): [output: Tensor, weights: Tensor | null] {
    for (const [name, one] of Object.entries({ query, key, value })) demandTensor(this, name, one);
    const [padding, needs, mask, averages, isCausal = null] = further(forwardOf(this), options, more) as [
      Tensor | null,
      boolean | null,
      Tensor | null,
      boolean | null,
      boolean | null | undefined,
    ];
    if (this._isFast(query, key, value, mask, padding)) {
      return this._fast(query, mask, padding, needs ?? true, averages);
    }
    return ownScope(() => {
      const turns = this.batchFirst && query.ndim === 3;
      const turned = new Map([query, key, value].map((one) => [one, turns ? (one.transpose(1, 0) as Tensor) : one]));
      const [output, weights] = F.multiHeadAttentionForward(
        turned.get(query),
        turned.get(key),
        turned.get(value),
        this.embedDim,
        this.numHeads,
        this.inProjWeight,
        this.inProjBias,
        this.biasK,
        this.biasV,
        this.addZeroAttn,
        this.dropout,
        this.outProj.weight,
        this.outProj.bias,
        this.training,
        padding,
        needs ?? true,
        mask,
        !this._sameSizes,
        this.qProjWeight,
        this.kProjWeight,
        this.vProjWeight,
        null,
        null,
        averages ?? true,
        isCausal ?? false,
      ) as [Tensor, Tensor | null];
      return [turns ? (output.transpose(1, 0) as Tensor) : output, weights];
    });
  }

  /** Python's conditions for its fused op, whose results differ in the last bits. */
  private _isFast(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | null, padding: Tensor | null): boolean {
    const { inProjWeight, inProjBias, outProj } = this;
    if (this.training || !this.batchFirst || query.ndim !== 3 || query !== key || key !== value) return false;
    if (this.biasK !== null || this.biasV !== null || this.addZeroAttn) return false;
    if (sumsMasks ? mask?.isFloatingPoint() || padding?.isFloatingPoint() : this.dropout !== 0 || mask !== null) {
      return false;
    }
    if (!this._sameSizes || this.numHeads % 2 === 1 || inProjBias === null || outProj.bias === null) return false;
    if (query.dtype !== inProjBias.dtype || query.dtype !== inProjWeight!.dtype) return false;
    if (native.autocastEnabled(true)) return false;
    return !records([query, inProjWeight, inProjBias, outProj.weight, outProj.bias]);
  }

  private _fast(
    query: Tensor,
    attnMask: Tensor | null,
    padding: Tensor | null,
    needs: boolean,
    averages: boolean | null,
  ): [Tensor, Tensor | null] {
    const { inProjWeight, inProjBias, outProj } = this;
    return ownScope(() => {
      const [mask, kind] = mergedMasks(query, attnMask, padding, this.numHeads);
      const [output, weights] = aten._nativeMultiHeadAttention(
        query,
        query,
        query,
        this.embedDim,
        this.numHeads,
        inProjWeight,
        inProjBias,
        outProj.weight,
        outProj.bias,
        mask,
        needs,
        averages ?? true,
        kind,
      ) as [Tensor, Tensor | null];
      return [output, needs ? weights : null];
    });
  }
}

pythonNames(MultiheadAttention, {
  inProjWeight: 'in_proj_weight',
  inProjBias: 'in_proj_bias',
  qProjWeight: 'q_proj_weight',
  kProjWeight: 'k_proj_weight',
  vProjWeight: 'v_proj_weight',
  outProj: 'out_proj',
  biasK: 'bias_k',
  biasV: 'bias_v',
});
