/**
 * Stand-ins for tensors that can be compared and shown: test libraries look at own properties, which in a tensor only
 * identify it.
 */
import { types } from 'node:util';
import { isPendingTensor } from '../tensor/pending';
import { toArray, toTypedArray } from '../tensor/read';
import { isTensor, type Tensor } from '../tensor/tensor';

/** Larger tensors are compared and shown as typed arrays. */
const MAX_NESTING = 1000;

/** A stand-in for a tensor. Its class name appears in diffs. */
const Standing = {
  Tensor: class {
    declare readonly _device?: unknown;
  },
}.Tensor;

function standFor(tensor: Tensor): object {
  const standing = new Standing() as Record<string, unknown>;
  if (isPendingTensor(tensor) || tensor.disposed) return Object.assign(standing, { disposed: tensor._handle });
  const { dtype, shape, device, layout } = tensor;
  Object.assign(standing, { dtype, shape });
  if (device !== 'cpu') standing.device = device;
  if (layout !== 'strided') standing.layout = layout;
  standing.values = valuesOf(tensor);
  return standing;
}

/** The elements in an array. Releases intermediate tensors. */
function flatOf(tensor: Tensor): ArrayLike<unknown> {
  const made: Tensor[] = [];
  const keep = (one: Tensor): Tensor => {
    made.push(one);
    return one;
  };
  try {
    const dense = tensor.layout === 'strided' ? tensor : keep(keep(tensor.detach()).toDense());
    return toTypedArray(/^qu?int/.test(tensor.dtype) ? keep(dense.dequantize()) : dense);
  } finally {
    for (const one of made) one.dispose();
  }
}

function valuesOf(tensor: Tensor): unknown {
  if (tensor.device === 'meta') return undefined;
  const isPlain = tensor.layout === 'strided' && !/^qu?int/.test(tensor.dtype);
  return isPlain && tensor.numel <= MAX_NESTING ? toArray(tensor) : flatOf(tensor);
}

/** The own values inside a value. Skips getters and traps, to run no user code. */
function* inside(value: object): Generator<unknown> {
  if (types.isMap(value)) {
    for (const [key, element] of Map.prototype.entries.call(value)) {
      yield key;
      yield element;
    }
  } else if (types.isSet(value)) yield* Set.prototype.values.call(value);
  else if (!ArrayBuffer.isView(value)) {
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Object.getOwnPropertyDescriptor(value, key)!;
      if (descriptor.enumerable && typeof descriptor.value === 'object') yield descriptor.value;
    }
  }
}

/** Whether the value contains a tensor, at any depth. */
export function holdsTensor(root: unknown): boolean {
  const seen = new Set<unknown>();
  const rest = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value !== 'object' || value === null || types.isProxy(value) || seen.has(value)) continue;
    if (isTensor(value)) return true;
    seen.add(value);
    for (const element of inside(value)) rest.push(element);
  }
  return false;
}

/**
 * A copy with stand-ins in place of tensors; undefined if there are none, or the value is too deep to copy. Cycles stay
 * cycles, getters stay getters.
 */
export function withStandIns(root: unknown): { value: unknown } | undefined {
  let found = false;
  const known = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || types.isProxy(value)) return value;
    if (known.has(value)) return known.get(value);
    if (isTensor(value)) {
      found = true;
      const standing = standFor(value);
      known.set(value, standing);
      return standing;
    }
    if (types.isMap(value)) {
      const map = new Map();
      known.set(value, map);
      for (const [key, element] of Map.prototype.entries.call(value)) map.set(copy(key), copy(element));
      return map;
    }
    if (types.isSet(value)) {
      const set = new Set();
      known.set(value, set);
      for (const element of Set.prototype.values.call(value)) set.add(copy(element));
      return set;
    }
    if (!Array.isArray(value) && Object.prototype.toString.call(value) !== '[object Object]') return value;
    const made: object = Array.isArray(value) ? new Array(value.length) : Object.create(Object.getPrototypeOf(value));
    known.set(value, made);
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Object.getOwnPropertyDescriptor(value, key)!;
      if (!descriptor.enumerable) continue;
      if ('value' in descriptor) descriptor.value = copy(descriptor.value);
      Object.defineProperty(made, key, { ...descriptor, configurable: true });
    }
    return made;
  };
  try {
    const value = copy(root);
    return found ? { value } : undefined;
  } catch {
    return undefined; // too deep for the stack: keep the result of node:assert
  }
}

/** Whether two tensors have the same dtype, device, shape and values, compared with Object.is. */
export function sameValues(a: Tensor, b: Tensor): boolean {
  if (a === b) return true;
  if (isPendingTensor(a) || isPendingTensor(b) || a.disposed || b.disposed) return a._handle === b._handle;
  for (const name of ['dtype', 'device', 'layout'] as const) if (a[name] !== b[name]) return false;
  if (a.shape.join() !== b.shape.join()) return false;
  if (a.device === 'meta') return true;
  return sameElements(flatOf(a), flatOf(b));
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
