/** What leaves a scope, and whose it is then. */
import { PendingValue } from '../async/pending';
import { isPending, type Pending } from '../async/places';
import { argumentError, codedError, disposedError } from '../errors';
import { native } from '../native';
import { guard, type Tensor } from '../tensor';
import { forEachTensor } from './walk';

/** Whether `scope` is `outer` or lies inside it. */
function isInside(scope: number, outer: number): boolean {
  for (let id = scope; id !== 0; id = native.scopeParent(id)) if (id === outer) return true;
  return false;
}

/** Hands a tensor that `scope` or one inside it owns to `parent`, the scope around it, or with 0 to the collector. */
function handOver(tensor: Tensor, scope: number, parent: number): void {
  const owner = native.scopeOf(tensor._handle);
  if (owner === 0 || !isInside(owner, scope)) return; // the collector's, or an outer scope's already
  if (parent === 0) guard(tensor);
  else native.scopeMove(tensor._handle, parent);
}

/** Not a result of torch.run that is to come, also where another copy of the library recorded it. */
const isThere = (value: Tensor | Pending): value is Tensor => !isPending(value) && value._handle > 0;

/** A pending one has the code of its result where tensors have their handle: see lib/async/strand.ts. */
const hasCode = (value: Tensor | Pending) => value instanceof PendingValue || value._handle <= -(2 ** 32);

/** What a scope's function returned goes to the scope around it, or to the collector. */
export function moveOut(fn: string, value: unknown, scope: number): void {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  const parent = native.scopeParent(scope);
  forEachTensor(fn, value, (tensor) => {
    // A pending result is no scope's yet: it will be of the scope where torch.run was called.
    if (isThere(tensor)) handOver(tensor, scope, parent);
  });
}

/** Somebody asks for another owner than a pending result will have. */
function tensorsIn(fn: string, value: unknown): Tensor[] {
  const all: Tensor[] = [];
  forEachTensor(fn, value, (tensor) => {
    if (isThere(tensor)) all.push(tensor);
    else if (!hasCode(tensor)) throw argumentError(fn, 'value', 'tensors', tensor);
    else {
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

/** `scope.move`: every tensor in `value` that `scope` or one inside it owns goes to the scope around it. */
export function moveAll(value: unknown, scope: number): void {
  const parent = native.scopeParent(scope);
  for (const tensor of tensorsIn('scope.move', value)) handOver(tensor, scope, parent);
}

/** Hands every tensor in `value` to the garbage collector, whatever scope owns it. Returns `value`. */
export function keep<T>(value: T): T {
  for (const tensor of tensorsIn('keep', value)) if (!guard(tensor)) throw disposedError('keep', tensor._handle);
  return value;
}

/** Releases every tensor in any nesting of arrays, maps, sets, plain objects and classes with `torch.tensors`. */
export function disposeAll(value: unknown): void {
  forEachTensor('disposeAll', value, (tensor) => {
    // A pending result is freed when nothing recorded needs it any more.
    if (isThere(tensor)) tensor.dispose();
  });
}
