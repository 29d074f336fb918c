/** Values with tensors as messages: a tensor crosses as a token of `share()`, its memory is not copied. */
import { fromShared, type SharedTensor, SharedToken, share } from '../../tensor/share';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { isPlainObject } from '../arguments';

/** A message. A clone keeps identities, so the tokens in `value` are those of the list. */
export interface Packed {
  readonly value: unknown;
  readonly tokens: readonly SharedTensor[];
  /** The memory behind the tensors. */
  readonly bytes: number;
}

const isMap = (value: object): value is Map<unknown, unknown> =>
  Object.prototype.toString.call(value) === '[object Map]';
const isSet = (value: object): value is Set<unknown> => Object.prototype.toString.call(value) === '[object Set]';

/** A copy of arrays, plain objects, Maps and Sets, with other values as `of` gives them. */
function mapped(value: unknown, of: (value: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const other = of(value);
  if (other !== value) return other;
  if (Array.isArray(value)) return value.map((inner) => mapped(inner, of));
  if (isMap(value)) return new Map([...value].map(([key, inner]) => [mapped(key, of), mapped(inner, of)]));
  if (isSet(value)) return new Set([...value].map((inner) => mapped(inner, of)));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapped(inner, of)]));
}

export function pack(value: unknown): Packed {
  const tokens = new Map<Tensor, SharedTensor>();
  let bytes = 0;
  const copy = mapped(value, (inner) => {
    if (!isTensor(inner)) return inner;
    let token = tokens.get(inner);
    if (token === undefined) {
      token = { shared: share(inner).shared };
      tokens.set(inner, token);
      bytes += inner.storageBytes;
    }
    return token;
  });
  return { value: copy, tokens: [...tokens.values()], bytes };
}

/** The value, with tensors that belong to the current scope. The tokens are spent, unless others take them too. */
export function unpack({ value, tokens }: Packed, spend = true): unknown {
  const tensors = new Map<unknown, Tensor>();
  try {
    for (const token of tokens) tensors.set(token, fromShared(token));
  } finally {
    if (spend) discard({ value, tokens, bytes: 0 });
  }
  return tensors.size === 0 ? value : mapped(value, (inner) => tensors.get(inner) ?? inner);
}

/** Releases what a message holds. */
export function discard({ tokens }: Packed): void {
  for (const { shared } of tokens) new SharedToken(shared).dispose();
}
