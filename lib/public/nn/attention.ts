/** torch/nn/functional.py: multi_head_attention_forward. */

import { composed, define } from '../../call/define';
import { since } from '../../optim/release';
import type { Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { refuse, sameShape, sizes, warn } from '../support';

const fn = 'multiHeadAttentionForward';

/** From PyTorch 2 on masks are added, and attention without its weights is one op. The last bits differ. */
const isFused = since(2, 0);

function demandShape(name: string, tensor: Tensor | null, shape: readonly number[]): void {
  if (tensor === null || sameShape(tensor.shape, shape)) return;
  throw refuse(fn, name, `a Tensor of shape ${sizes(shape)}`, tensor);
}

function demandDims(name: string, tensor: Tensor | null, dims: readonly number[]): void {
  if (tensor === null || dims.includes(tensor.ndim)) return;
  throw refuse(fn, name, `a Tensor of ${dims.join(' or ')} dimensions`, tensor);
}

function demand(name: string, tensor: Tensor | null): Tensor {
  if (tensor === null) throw refuse(fn, name, 'a Tensor', tensor);
  return tensor;
}

const linear = (x: Tensor, weight: Tensor, bias: Tensor | null): Tensor =>
  bias === null ? nn.linear!(x, weight) : nn.linear!(x, weight, bias);

const thirds = (t: Tensor | null): (Tensor | null)[] => (t === null ? [null, null, null] : t.chunk(3));

/** The parts of a joint projection. */
function partsOf(joint: Tensor, count: number): Tensor[] {
  if (!isFused) return joint.chunk(count, -1) as Tensor[];
  const all = (joint.unflatten(-1, [count, joint.shape.at(-1)! / count]) as Tensor)
    .unsqueeze(0)
    .transpose(0, -2)
    .squeeze(-2)
    .contiguous();
  return Array.from({ length: count }, (_, i) => all.select(0, i) as Tensor);
}

/** Key and value are one tensor, and are projected together. */
function projectedPair(q: Tensor, k: Tensor, packed: Tensor, bias: Tensor | null): Tensor[] {
  const embed = q.shape[2]!;
  const parts = (t: Tensor): [Tensor, Tensor] => aten.split!(t, [embed, 2 * embed]);
  const [qWeight, pairWeight] = parts(packed);
  const [qBias, pairBias] = bias === null ? [null, null] : parts(bias);
  return [linear(q, qWeight, qBias), ...partsOf(linear(k, pairWeight, pairBias), 2)];
}

/** Projects query, key and value with one packed weight, or with three. */
function projected(
  [q, k, v]: readonly Tensor[],
  packed: Tensor | null,
  separate: readonly (Tensor | null)[],
  useSeparate: boolean,
  bias: Tensor | null,
): Tensor[] {
  const inputs = [q!, k!, v!];
  const names = ['qProjWeight', 'kProjWeight', 'vProjWeight'];
  const embed = q!.shape[2]!;
  if (useSeparate)
    inputs.forEach((x, i) => {
      demandShape(names[i]!, demand(names[i]!, separate[i]!), [embed, x.shape[2]!]);
    });
  if (!useSeparate && q === k && k === v) return partsOf(linear(q!, demand('inProjWeight', packed), bias), 3);
  if (!useSeparate && k === v) return projectedPair(q!, k!, demand('inProjWeight', packed), bias);
  const weights = useSeparate ? separate : thirds(demand('inProjWeight', packed));
  const biases = thirds(bias);
  return inputs.map((x, i) => linear(x, weights[i]!, biases[i]!));
}

/** Converts a boolean mask to floats to add: -inf where it is true. */
export function additive(mask: Tensor, like: Tensor): Tensor {
  if (mask.dtype !== 'bool') return mask;
  const zeros = like.newZeros(mask.shape) as Tensor; // in the dtype of `like`, which torch.run may not know yet
  return zeros.maskedFill_(mask, Number.NEGATIVE_INFINITY);
}

/** The mask over queries and keys, with three dimensions. */
function attentionMask(mask: Tensor | null, queries: number, keys: number, rows: number): Tensor | null {
  if (mask === null) return null;
  let result = mask;
  if (mask.dtype === 'uint8') {
    warn('Byte tensor for attnMask in nn.MultiheadAttention is deprecated. Use bool tensor instead.');
    result = mask.to('bool');
  } else if (!mask.isFloatingPoint() && mask.dtype !== 'bool') {
    throw refuse(fn, 'attnMask', 'a float, byte or bool Tensor', mask);
  }
  demandDims('attnMask', mask, [2, 3]);
  if (mask.ndim === 3) demandShape('attnMask', mask, [rows, queries, keys]);
  else demandShape('attnMask', mask, [queries, keys]);
  return mask.ndim === 2 ? result.unsqueeze(0) : result;
}

/** Merges the mask over keys with the other one. */
function withPadding(
  mask: Tensor | null,
  padding: Tensor | null,
  batch: number,
  heads: number,
  keys: number,
): Tensor | null {
  if (padding === null) return mask;
  demandShape('keyPaddingMask', padding, [batch, keys]);
  const wide = padding
    .view([batch, 1, 1, keys])
    .expand([-1, heads, -1, -1])
    .reshape([batch * heads, 1, keys]);
  if (mask === null) return wide;
  if (isFused) return mask.add(wide);
  return mask.dtype === 'bool' ? mask.logicalOr(wide) : mask.maskedFill(wide, Number.NEGATIVE_INFINITY);
}

/** The sizes that all steps use. */
interface Sizes {
  readonly batched: boolean;
  readonly batch: number;
  readonly heads: number;
  readonly headDim: number;
  readonly targetLength: number;
  readonly embed: number;
}

function demandInputs(query: Tensor, key: Tensor, value: Tensor, keyPaddingMask: Tensor | null): void {
  demandDims('query', query, [2, 3]);
  demandDims('key', key, [query.ndim]);
  demandDims('value', value, [query.ndim]);
  demandDims('keyPaddingMask', keyPaddingMask, [query.ndim - 1]);
  if (keyPaddingMask !== null && keyPaddingMask.dtype !== 'bool' && !keyPaddingMask.isFloatingPoint()) {
    throw refuse(fn, 'keyPaddingMask', 'a bool or floating-point Tensor', keyPaddingMask);
  }
}

function sizesOf(query: Tensor, batched: boolean, embedDim: number, heads: number): Sizes {
  const [targetLength, batch, embed] = query.shape as [number, number, number];
  if (embed !== embedDim) throw refuse(fn, 'query', `an embedding dimension of ${embedDim}`, embed);
  const headDim = Math.floor(embed / heads);
  if (headDim * heads !== embed) throw refuse(fn, 'numHeads', `a divisor of the embedding dimension ${embed}`, heads);
  return { batched, batch, heads, headDim, targetLength, embed };
}

function demandCausal(isCausal: boolean, attnMask: Tensor | null): void {
  if (isCausal && !isFused) throw refuse(fn, 'isCausal', 'false before libtorch 2', isCausal);
  if (isCausal && attnMask === null) throw refuse(fn, 'attnMask', 'a Tensor, with isCausal', attnMask);
}

/** Whether there are two biases to append to keys and values. */
function demandBiases(
  biasK: Tensor | null,
  biasV: Tensor | null,
  staticK: Tensor | null,
  staticV: Tensor | null,
): [Tensor, Tensor] | null {
  if ((biasK === null) !== (biasV === null)) throw refuse(fn, biasK === null ? 'biasK' : 'biasV', 'a Tensor', null);
  if (biasK === null || biasV === null) return null;
  if (staticK !== null) throw refuse(fn, 'staticK', 'none with biasK', staticK);
  if (staticV !== null) throw refuse(fn, 'staticV', 'none with biasV', staticV);
  return [biasK, biasV];
}

/** A mask whose last dimension are keys, to which `count` unmasked ones were appended. */
const widened = (mask: Tensor | null, count: number): Tensor | null =>
  mask === null || count === 0 ? mask : (nn.pad!(mask, [0, count]) as Tensor);

/** Attention without its weights, from libtorch 2 on. */
function fused(
  [q, k, v]: readonly Tensor[],
  mask: Tensor | null,
  dropout: number,
  isCausal: boolean,
  of: Sizes,
): Tensor {
  const { batch, heads, headDim, targetLength, embed } = of;
  const split = (t: Tensor) => t.view([batch, heads, t.shape[1]!, headDim]);
  const wide =
    mask?.ndim === 3 && mask.shape[0] === 1 ? mask.unsqueeze(0) : mask?.view([batch, heads, -1, k!.shape[1]!]);
  const attended: Tensor = nn.scaledDotProductAttention!(
    split(q!),
    split(k!),
    split(v!),
    wide ?? null,
    dropout,
    isCausal,
  );
  return attended
    .permute([2, 0, 1, 3])
    .contiguous()
    .view([batch * targetLength, embed]);
}

/** Attention with its weights, for each head. */
function weighted(
  [q, k, v]: readonly Tensor[],
  mask: Tensor | null,
  dropout: number,
  { batch, headDim, targetLength, embed }: Sizes,
): { flat: Tensor; weights: Tensor } {
  const scaled = isFused ? q!.mul(Math.sqrt(1 / headDim)) : q!.div(Math.sqrt(headDim));
  const keys = k!.transpose(-2, -1);
  const scores: Tensor = mask === null ? scaled.bmm(keys) : aten.baddbmm!(additive(mask, q!), scaled, keys);
  let weights = scores.softmax(-1);
  if (dropout > 0) weights = aten.dropout!(weights, dropout, true);
  const flat = weights
    .bmm(v!)
    .transpose(0, 1)
    .contiguous()
    .view([targetLength * batch, embed]);
  return { flat, weights };
}

/** Query, key and value for each head. `biases` and zeros are appended to keys and values that are not `fixed`. */
function byHeads(
  [q, k, v]: readonly Tensor[],
  biases: readonly [Tensor, Tensor] | null,
  staticK: Tensor | null,
  staticV: Tensor | null,
  addZeroAttn: boolean,
  { batch, heads, headDim }: Sizes,
): [Tensor, Tensor, Tensor] {
  const rows = batch * heads;
  const split = (t: Tensor) => t.contiguous().view([t.shape[0]!, rows, headDim]).transpose(0, 1);
  const withBias = (t: Tensor, bias: Tensor | undefined) =>
    bias === undefined ? t : aten.cat!([t, bias.repeat([1, batch, 1])]);
  const fixed = (name: string, t: Tensor): Tensor => {
    demandShape(name, t, [rows, t.shape[1] ?? 0, headDim]);
    return t;
  };
  const withZero = (t: Tensor): Tensor =>
    addZeroAttn ? aten.cat!([t, t.newZeros([rows, 1, headDim]) as Tensor], 1) : t;
  const keys = withBias(k!, biases?.[0]);
  const values = withBias(v!, biases?.[1]);
  return [
    split(q!),
    withZero(staticK === null ? split(keys) : fixed('staticK', staticK)),
    withZero(staticV === null ? split(values) : fixed('staticV', staticV)),
  ];
}

function multiHeadAttentionForward(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  embedDimToCheck: number,
  heads: number,
  inProjWeight: Tensor | null,
  inProjBias: Tensor | null,
  biasK: Tensor | null,
  biasV: Tensor | null,
  addZeroAttn: boolean,
  dropoutP: number,
  outProjWeight: Tensor,
  outProjBias: Tensor | null,
  training: boolean,
  keyPaddingMask: Tensor | null,
  needWeights: boolean,
  attnMask: Tensor | null,
  useSeparateProjWeight: boolean,
  qProjWeight: Tensor | null,
  kProjWeight: Tensor | null,
  vProjWeight: Tensor | null,
  staticK: Tensor | null,
  staticV: Tensor | null,
  averageAttnWeights: boolean,
  isCausal: boolean,
): [Tensor, Tensor | null] {
  demandInputs(query, key, value, keyPaddingMask);
  const batched = query.ndim === 3;
  // As in Python, inputs without a batch are three tensors from here on, also if one was passed for all.
  const inputs = [query, key, value].map((t) => (batched ? t : t.unsqueeze(1)));
  const of = sizesOf(inputs[0]!, batched, embedDimToCheck, heads);
  const { batch, targetLength } = of;
  const compared = useSeparateProjWeight ? 2 : 3;
  if (!sameShape(inputs[1]!.shape.slice(0, compared), inputs[2]!.shape.slice(0, compared))) {
    throw refuse(fn, 'value', `the key's sizes ${sizes(key.shape)}`, value);
  }
  demandCausal(isCausal, attnMask);
  // The fused op needs no mask to be causal. A mask over keys, or weights of attention, need it.
  const isOnlyCausal = isCausal && keyPaddingMask === null && !needWeights;
  const separate = [qProjWeight, kProjWeight, vProjWeight];
  const joint = projected(inputs, inProjWeight, separate, useSeparateProjWeight, inProjBias);
  const checked = attentionMask(attnMask, targetLength, inputs[1]!.shape[0]!, batch * heads);
  const summable = (one: Tensor | null) => (one === null || !isFused ? one : additive(one, query));
  const ownMask = isOnlyCausal ? null : summable(checked);
  const padding = summable(keyPaddingMask === null || batched ? keyPaddingMask : keyPaddingMask.unsqueeze(0));
  const biases = demandBiases(biasK, biasV, staticK, staticV);
  const [q, k, v] = byHeads(joint, biases, staticK, staticV, addZeroAttn, of);
  // Entries appended to the keys are not masked.
  const appended = (biases === null ? 0 : 1) + (addZeroAttn ? 1 : 0);
  const mask = withPadding(widened(ownMask, appended), widened(padding, appended), batch, heads, k.shape[1]!);
  const dropout = training ? dropoutP : 0;
  const unbatched = (t: Tensor, dim: number) => (batched ? t : t.squeeze(dim));
  const outputOf = (flat: Tensor): Tensor => {
    const joined = linear(flat, outProjWeight, outProjBias);
    return unbatched(joined.view([targetLength, batch, joined.shape[1]!]), 1);
  };
  if (isFused && !needWeights) return [outputOf(fused([q, k, v], mask, dropout, isOnlyCausal, of)), null];
  const { flat, weights } = weighted([q, k, v], mask, dropout, of);
  const output = outputOf(flat);
  if (!needWeights) return [output, null];
  const perHead = weights.view([batch, heads, targetLength, k.shape[1]!]);
  const mean = () => (isFused ? perHead.mean([1]) : perHead.sum([1]).div(heads));
  return [output, unbatched(averageAttnWeights ? mean() : perHead, 0)];
}

define(['nn.functional'], { multiHeadAttentionForward: composed(multiHeadAttentionForward) });
