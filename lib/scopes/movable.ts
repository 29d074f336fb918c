/** What leaves a scope, and whose it is then. */
import { disposedError } from '../errors';
import { native } from '../native';
import { guard, type Tensor } from '../tensor';
import { forEachTensor } from './walk';

/** Whether `scope` is `outer` or lies inside it. */
function isInside(scope: number, outer: number): boolean {
  for (let id = scope; id !== 0; id = native.scopeParent(id)) if (id === outer) return true;
  return false;
}

/** Hands the tensors in `value` that `scope` or one inside it owns to the scope around it, or to the collector. */
export function moveOut(fn: string, value: unknown, scope: number): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  const parent = native.scopeParent(scope);
  forEachTensor(fn, value, (tensor) => {
    const owner = native.scopeOf(tensor._handle);
    if (owner === 0 || !isInside(owner, scope)) return; // the collector's, or an outer scope's already
    if (parent === 0) guard(tensor);
    else native.scopeMove(tensor._handle, parent);
  });
}

/** Hands every tensor in `value` to the garbage collector, whatever scope owns it. Returns `value`. */
export function keep<T>(value: T): T {
  forEachTensor('keep', value, (tensor) => {
    if (!guard(tensor)) throw disposedError('keep', tensor._handle);
  });
  return value;
}

/** Releases every tensor in any nesting of arrays, maps, sets, plain objects and classes with `torch.tensors`. */
export function disposeAll(value: unknown): void {
  forEachTensor('disposeAll', value, (tensor: Tensor) => tensor.dispose());
}
