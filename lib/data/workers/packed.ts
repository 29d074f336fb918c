/** Values with tensors as messages: a tensor crosses as a token of `share()`, its memory is not copied. */

import { types } from 'node:util';
import { elementsOf, entriesOf, isMap, isSet } from '../../addon/collections';
import { native } from '../../addon/native';
import { isPlainObject } from '../../addon/options';
import { ownScope } from '../../lifetimes/scope';
import { fromShared, type SharedTensor, SharedToken, share } from '../../tensor/share';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Around, within } from '../arguments';

/** A message. A clone keeps identities, so the tokens in `value` are those of the list. */
export interface Packed {
  readonly value: unknown;
  readonly tokens: readonly SharedTensor[];
  /** The memory behind tensors and typed arrays, once for each storage. */
  readonly bytes: number;
}

/** A copy of arrays, plain objects, Maps and Sets, with other values as `of` gives them. */
function mapped(value: unknown, of: (value: object) => unknown, around: Around | null = null): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const other = of(value);
  if (other !== value) return other;
  const isList = Array.isArray(value);
  if (!isList && !isMap(value) && !isSet(value) && !isPlainObject(value)) return value;
  const here = within('utils.data.DataLoader', 'dataset', value, around);
  const inside = (inner: unknown) => mapped(inner, of, here);
  if (isList) return value.map(inside);
  if (isMap(value)) return new Map(entriesOf(value).map(([key, inner]) => [inside(key), inside(inner)]));
  if (isSet(value)) return new Set(elementsOf(value).map(inside));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner)]));
}

export function pack(value: unknown): Packed {
  const tokens = new Map<Tensor, SharedTensor>();
  const memory = new Memory();
  let packed = false;
  try {
    const copy = mapped(value, (inner) => {
      if (!isTensor(inner)) {
        memory.addBuffer(inner);
        return inner;
      }
      let token = tokens.get(inner);
      if (token === undefined) {
        token = { shared: shared(inner) };
        tokens.set(inner, token);
        memory.addTensor(inner);
      }
      return token;
    });
    packed = true;
    return { value: copy, tokens: [...tokens.values()], bytes: memory.bytes };
  } finally {
    if (!packed) discard({ value, tokens: [...tokens.values()], bytes: 0 });
  }
}

/** Memory of a typed array belongs to its thread: such a tensor is copied. */
function shared(tensor: Tensor): SharedArrayBuffer {
  try {
    return share(tensor).shared;
  } catch (error) {
    if (!/typed array/.test((error as Error).message)) throw error;
  }
  const copy = tensor.clone() as Tensor;
  try {
    return share(copy).shared;
  } finally {
    copy.dispose();
  }
}

/** The tensors that a sparse one consists of; none for other layouts without a storage. */
function partsOf(tensor: Tensor): Tensor[] {
  switch (tensor.layout) {
    case 'sparse_coo':
      return [tensor._indices(), tensor._values()] as Tensor[];
    case 'sparse_csr':
    case 'sparse_bsr':
      return [tensor.crowIndices(), tensor.colIndices(), tensor.values()] as Tensor[];
    case 'sparse_csc':
    case 'sparse_bsc':
      return [tensor.ccolIndices(), tensor.rowIndices(), tensor.values()] as Tensor[];
    default:
      return [];
  }
}

/** Sums the bytes of storages and of ArrayBuffers. */
class Memory {
  bytes = 0;
  readonly #buffers = new Set<unknown>();
  readonly #storages = new Set<number | bigint>();

  /** A message has the whole buffer of a view. */
  addBuffer(value: object): void {
    const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
    if (!types.isAnyArrayBuffer(buffer) || this.#buffers.has(buffer)) return;
    this.#buffers.add(buffer);
    this.bytes += buffer.byteLength;
  }

  addTensor(tensor: Tensor): void {
    if (tensor.layout !== 'strided') {
      this.bytes += ownScope(() => partsOf(tensor).reduce((sum, part) => sum + part.storageBytes, 0));
      return;
    }
    const storage = native.storageKey(tensor._handle);
    if (this.#storages.has(storage)) return;
    this.#storages.add(storage);
    this.bytes += tensor.storageBytes;
  }
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
