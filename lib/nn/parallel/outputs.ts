/** The tensors in what a forward returns, which may be nested. */
import { isPlain } from '../../tensor/places';
import { isTensor, type Tensor } from '../../tensor/tensor';

/** In arrays, maps and plain objects, each place once. */
export function tensorsOf(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  mapped(value, (tensor) => {
    found.push(tensor);
    return tensor;
  });
  return found;
}

/** A copy of the nesting with `replace` of each tensor; other values stay the same. */
export function mapped(value: unknown, replace: (tensor: Tensor) => Tensor): unknown {
  if (isTensor(value)) return replace(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return copyOfArray(value, replace);
  if (value instanceof Map) return new Map([...value].map(([key, element]) => [key, mapped(element, replace)]));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, mapped(element, replace)]));
}

/** Results of several tensors have names too, which refer to the same tensors. */
function copyOfArray(array: unknown[], replace: (tensor: Tensor) => Tensor): unknown[] {
  const made = new Map<unknown, unknown>();
  const copy: unknown[] = array.map((element) => {
    const one = mapped(element, replace);
    made.set(element, one);
    return one;
  });
  for (const [key, element] of Object.entries(array)) {
    if (!/^\d+$/.test(key)) (copy as unknown as Record<string, unknown>)[key] = made.get(element) ?? element;
  }
  return copy;
}
