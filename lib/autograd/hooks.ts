/**
 * Hooks on gradients. A hook is held by its leaf, or by the graph that made the tensor. So its function, and everything that
 * it refers to, lives as long as that, or until `remove()`; see docs/autograd.md on functions that refer to their tensor.
 */

import { native } from '../addon/native';
import { Weak } from '../addon/weak';
import { argumentError, disposedError } from '../errors/errors';
import { asUser } from '../lifetimes/user-code';
import { isTensor, type Tensor, wrapElement } from '../tensor/tensor';

/** Removes a hook. */
export interface HookHandle {
  /** Stops calling the function and releases it. Further calls do nothing. */
  remove(): void;
  [Symbol.dispose](): void;
}

/** Gets the gradient of its tensor, and returns a replacement, or nothing to keep it. */
// biome-ignore lint/suspicious/noConfusingVoidType: the type of a function without a return
export type GradientHook = (grad: Tensor) => Tensor | null | undefined | void;

class RegisteredHook implements HookHandle {
  readonly #hook: unknown;

  constructor(hook: unknown) {
    this.#hook = hook;
  }

  remove(): void {
    native.dropHook(this.#hook);
  }

  [Symbol.dispose](): void {
    this.remove();
  }
}

/** The handle of a gradient that a callback returned; 0 for none. */
export function gradientHandle(fn: string, place: string, value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (!isTensor(value)) throw argumentError(fn, place, 'a Tensor, null or undefined', value);
  if (value.disposed) throw disposedError(fn, value._handle, place);
  return value._handle;
}

// Separate functions, so that the closures refer to the hook's function only.
const onGradient = (hook: GradientHook) => (raw: unknown) => {
  const grad = wrapElement(raw)!;
  const result = asUser(() => hook(grad));
  return gradientHandle('registerHook', "the hook's result", result);
};

const onLeaf = (hook: (leaf: Tensor) => void, owner: Weak<Tensor>) => (raw: unknown) => {
  const leaf = wrapElement(raw)!;
  const own = owner.get();
  if (own === undefined || own.disposed) {
    asUser(() => hook(leaf));
    return;
  }
  leaf.dispose(); // a second handle of the program's tensor
  asUser(() => hook(own));
};

/** Calls `hook` with the gradient of `tensor`, each time one is computed. */
export function registerHook(tensor: Tensor, hook: GradientHook): HookHandle {
  if (typeof hook !== 'function') throw argumentError('registerHook', 'hook', 'a function', hook);
  return new RegisteredHook(native.registerHook(tensor._handle, onGradient(hook)));
}

/** Calls `hook` with the leaf, each time a backward has accumulated into its `grad`. */
export function registerPostAccumulateGradHook(tensor: Tensor, hook: (leaf: Tensor) => void): HookHandle {
  if (typeof hook !== 'function') throw argumentError('registerPostAccumulateGradHook', 'hook', 'a function', hook);
  const onAccumulated = onLeaf(hook, new Weak(tensor));
  return new RegisteredHook(native.registerPostAccumulateGradHook(tensor._handle, onAccumulated));
}
