/**
 * Tensors as values that can be compared and shown: what test libraries look at, an object's own properties, says of a
 * tensor only which one it is.
 */
import { types } from 'node:util';
import { isPendingTensor } from './async/pending';
import { toArray, toTypedArray } from './read';
import { isTensor, type Tensor } from './tensor';

/** Larger ones are compared and shown as typed arrays. */
const MAX_NESTING = 1000;

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

/** The elements in an array. Nothing that is made on the way stays. */
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

/** The values inside a value that are its own, without running code of the program: getters and traps are passed by. */
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

/** Whether there is a tensor among the values, at any depth. */
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
 * The same with what stands for them in place of tensors, or undefined where there is none, or where it is too deep to be
 * copied. Cycles stay cycles, getters stay getters.
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
    return undefined; // too deep for the stack: what node:assert said stands
  }
}

/** Whether two tensors have the same dtype, device, shape and values, which are compared as Object.is does. */
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
