/** Moves tensors out of scopes to new owners. */

import { native } from '../addon/native';
import { argumentError, codedError, disposedError } from '../errors/errors';
import { bodyNow, isPendingTensor, isPendingValue } from '../tensor/pending';
import { isPending, type Pending } from '../tensor/places';
import { guard, type Tensor } from '../tensor/tensor';
import { forEachTensor } from './walk';

/** Whether `scope` is `outer` or nested in it. */
function isInside(scope: number, outer: number): boolean {
  for (let id = scope; id !== 0; id = native.scopeParent(id)) if (id === outer) return true;
  return false;
}

/** Moves a tensor owned by `scope`, or a scope inside it, to `parent`, its enclosing scope; 0: to the garbage collector. */
function handOver(tensor: Tensor, scope: number, parent: number): void {
  const owner = native.scopeOf(tensor._handle);
  if (owner === 0 || !isInside(owner, scope)) return; // owned by the collector or an outer scope
  if (parent === 0) guard(tensor);
  else native.scopeMove(tensor._handle, parent);
}

/** Whether it is a real tensor and not a pending result of torch.run, of this or another copy of the library. */
const isReal = (value: Tensor | Pending): value is Tensor => !isPending(value) && value._handle > 0;

/** Whether a pending result has a code as its handle: see lib/async/strand.ts. */
const hasCode = (value: Tensor | Pending) => isPendingValue(value) || value._handle <= -(2 ** 32);

/** Moves the tensors in a scope's result to the enclosing scope, or to the garbage collector. */
export function moveOut(fn: string, value: unknown, scope: number): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  const parent = native.scopeParent(scope);
  forEachTensor(fn, value, (tensor) => {
    // No scope owns a pending result yet: the scope in which torch.run was called will.
    if (isReal(tensor)) handOver(tensor, scope, parent);
  });
}

/** The tensors in `value`. Refuses pending results, whose owner is fixed. */
function tensorsIn(fn: string, value: unknown): Tensor[] {
  const all: Tensor[] = [];
  forEachTensor(fn, value, (tensor) => {
    if (isReal(tensor)) all.push(tensor);
    else if (!hasCode(tensor)) throw argumentError(fn, 'value', 'tensors', tensor);
    else {
      bodyNow()?.refuse?.(`it calls ${fn}`);
      throw codedError(
        Error,
        'ERR_TORCH_PENDING',
        `${fn}: expected a tensor, got a pending one, which no scope owns yet: return it from the function of torch.run, ` +
          'and pass what torch.run resolves with',
      );
    }
  });
  return all;
}

/** `scope.move`: moves every tensor in `value` that `scope` or a scope inside it owns to the enclosing scope. */
export function moveAll(value: unknown, scope: number): void {
  const parent = native.scopeParent(scope);
  for (const tensor of tensorsIn('scope.move', value)) handOver(tensor, scope, parent);
}

/** Moves every tensor in `value` to the garbage collector, whichever scope owns it. Returns `value`. */
export function keep<T>(value: T): T {
  for (const tensor of tensorsIn('keep', value))
    if (!guard(tensor)) throw disposedError('keep', tensor._handle, 'value');
  return value;
}

/**
 * Releases every tensor in any nesting of arrays, maps, sets, plain objects and classes with `torch.tensors`, and calls `dispose()`
 * of the modules, models and optimizers there. If one of these throws, the others are disposed of all the same.
 */
export function disposeAll(value: unknown): void {
  const thrown: unknown[] = [];
  const release = (one: { dispose(): void }) => {
    try {
      one.dispose();
    } catch (error) {
      thrown.push(error);
    }
  };
  const owners = forEachTensor('disposeAll', value, (tensor) => {
    // A pending result is freed when no recorded op needs it any more; its recorder may refuse.
    if (isReal(tensor) || isPendingTensor(tensor)) release(tensor);
  });
  for (const owner of owners) release(owner);
  if (thrown.length === 1) throw thrown[0];
  if (thrown.length > 1) {
    throw new AggregateError(
      thrown,
      `disposeAll: ${thrown.length} of the values threw an error when they were disposed of`,
    );
  }
}
