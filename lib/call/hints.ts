/** Hints for errors: what to write instead of a value that does not fit. */
import { types } from 'node:util';
import { dtypeAliases, dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { describe } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { Kind } from '../generated/codes';
import { typedArrayDtypes } from '../tensor/nested';
import { isPendingTensor } from '../tensor/pending';
import { Iterated } from '../tensor/reading';
import { isTensor } from '../tensor/tensor';
import type { Mismatch } from './convert';

/** Names of dtypes in NumPy, TensorFlow.js, Rust, safetensors and JavaScript. */
const foreignDtypes: Readonly<Record<string, string>> = {
  ...dtypeAliases,
  number: 'float32',
  f16: 'float16',
  fp16: 'float16',
  f32: 'float32',
  fp32: 'float32',
  single: 'float32',
  f64: 'float64',
  fp64: 'float64',
  bf16: 'bfloat16',
  bfloat: 'bfloat16',
  byte: 'uint8',
  u8: 'uint8',
  i8: 'int8',
  i16: 'int16',
  i32: 'int32',
  i64: 'int64',
  integer: 'int64',
  bigint: 'int64',
  boolean: 'bool',
};

/** "; did you mean 'float32'?" for a value in place of a dtype. */
export function dtypeHint(value: unknown): string {
  if (typeof value === 'function') {
    const meant = [...typedArrayDtypes].find(([name]) => (globalThis as Record<string, unknown>)[name] === value);
    return meant === undefined ? '' : `; write '${meant[1]}'`;
  }
  if (typeof value !== 'string') return '';
  const bare = value.replace(/^(torch|np|tf)\./, '').toLowerCase();
  const known = dtypeCodes.has(bare) ? bare : Object.hasOwn(foreignDtypes, bare) ? foreignDtypes[bare] : undefined;
  if (known !== undefined && known !== value) return `; did you mean '${known}'?`;
  return didYouMean(bare, dtypeCodes.keys());
}

const isNumberLike = (value: unknown) =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';

/** Whether torch.tensor takes the value: numbers, in any kind of array. */
const isData = (value: unknown): boolean =>
  isNumberLike(value) ||
  (Array.isArray(value) && value.length > 0 && isData(value[0])) ||
  (value instanceof Iterated && value.elements.length > 0 && isNumberLike(value.elements[0])) ||
  (ArrayBuffer.isView(value) && !(value instanceof DataView));

/** The hint for a tensor in place of a number. */
function numberHint(value: unknown): string {
  if (!isTensor(value) || isPendingTensor(value) || !native.isLive(value._handle)) return '';
  return native.ndim(value._handle) === 0 ? '; t.item() is its number' : '';
}

/** Whether it is a token of t.share(), original or cloned. Runs no user code. */
function isToken(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  return describe(value) === 'a SharedToken' || Object.keys(value).join() === 'shared';
}

/** How to fix the value, as a clause after the reason; empty if unknown. */
export function hintOf(mismatches: readonly Mismatch[], argument: string): string {
  const { value } = mismatches[0]!;
  if (types.isPromise(value)) return '; did you forget await?';
  const wants = new Set(mismatches.map(({ base }) => base));
  const lists = mismatches.some(({ list }) => list);
  if (wants.has(Kind.Tensor) || wants.has(Kind.NumberTensor)) {
    if (isToken(value)) return '; torch.fromShared(token) gives its tensor';
    if (isTensor(value) && lists) return '; put the tensors into an array';
    if (typeof value === 'boolean') return '; comparisons of tensors are methods: a.gt(b)';
    if (isNumberLike(value) || isData(value)) {
      const data = isNumberLike(value) ? describe(value) : 'data';
      const dtype = /^ind(ex|ices)\b/.test(argument) ? ", { dtype: 'int64' }" : '';
      return `; torch.tensor(${data}${dtype}) makes one`;
    }
  } else if (wants.has(Kind.Int) || wants.has(Kind.Float) || wants.has(Kind.Scalar)) {
    const hint = numberHint(value);
    if (hint !== '') return hint;
  }
  if (wants.has(Kind.Dtype)) return dtypeHint(value);
  if (wants.has(Kind.Generator) && isNumberLike(value))
    return '; new torch.Generator() makes one, which manualSeed(n) seeds';
  return '';
}

/** "; did you mean 'cuda'?" to append to the addon's error about a device. */
export function deviceHint(text: string): string {
  const got = /expected a device such as 'cpu' or 'cuda:0', got '(.*)'$/s.exec(text)?.[1];
  if (got === undefined) return '';
  if (/^(gpu|webgl|webgpu|nvidia)(:\d+)?$/i.test(got)) return "; did you mean 'cuda'?";
  const lower = got.toLowerCase();
  if (lower !== got && /^(cpu|cuda)(:\d+)?$/.test(lower)) return `; did you mean '${lower}'?`;
  return dtypeHint(got).replace('mean ', 'mean the dtype ');
}
