/**
 * Tensors as values that can be compared and shown: what test libraries look at, an object's own properties, says of a
 * tensor only which one it is.
 */
import { types } from 'node:util';
import { isPendingTensor } from './async/pending';
import { toArray, toTypedArray } from './read';
import { isTensor, type Tensor } from './tensor';

/** Larger ones are compared and shown as typed arrays. */
const MOST_NESTED = 1000;

/** What stands for a tensor. Its class has the name that differences show. */
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

/** Nothing that is made on the way stays. */
function valuesOf(tensor: Tensor): unknown {
  const { device, layout, numel } = tensor;
  if (device === 'meta') return undefined;
  if (layout !== 'strided') {
    const detached = tensor.detach();
    const dense = detached.toDense();
    detached.dispose();
    try {
      return numel <= MOST_NESTED ? toArray(dense) : toTypedArray(dense);
    } finally {
      dense.dispose();
    }
  }
  return numel <= MOST_NESTED ? toArray(tensor) : toTypedArray(tensor);
}

/** The same with what stands for them in place of tensors, or undefined where there is none. Cycles stay cycles. */
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
      for (const [key, element] of value) map.set(copy(key), copy(element));
      return map;
    }
    if (types.isSet(value)) {
      const set = new Set();
      known.set(value, set);
      for (const element of value) set.add(copy(element));
      return set;
    }
    if (!Array.isArray(value) && Object.prototype.toString.call(value) !== '[object Object]') return value;
    const made: object = Array.isArray(value) ? new Array(value.length) : Object.create(Object.getPrototypeOf(value));
    known.set(value, made);
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Object.getOwnPropertyDescriptor(value, key)!;
      if (!descriptor.enumerable) continue;
      const element = copy((value as Record<PropertyKey, unknown>)[key]);
      Object.defineProperty(made, key, { value: element, enumerable: true, writable: true, configurable: true });
    }
    return made;
  };
  const value = copy(root);
  return found ? { value } : undefined;
}

/** Whether two tensors have the same dtype, device, shape and values, which are compared as Object.is does. */
export function sameValues(a: Tensor, b: Tensor): boolean {
  if (a === b) return true;
  if (isPendingTensor(a) || isPendingTensor(b) || a.disposed || b.disposed) return a._handle === b._handle;
  for (const name of ['dtype', 'device', 'layout'] as const) if (a[name] !== b[name]) return false;
  if (a.shape.join() !== b.shape.join()) return false;
  if (a.device === 'meta') return true;
  if (a.layout !== 'strided') return sameElements(flatOf(a), flatOf(b));
  return sameElements(toTypedArray(a), toTypedArray(b));
}

function flatOf(sparse: Tensor): ArrayLike<unknown> {
  const detached = sparse.detach();
  const dense = detached.toDense();
  try {
    return toTypedArray(dense);
  } finally {
    dense.dispose();
    detached.dispose();
  }
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
