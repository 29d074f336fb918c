/** Weak references. */
import { native } from './native';

/**
 * Refers to an object without keeping it. A `WeakRef` keeps its target until the running job ends, when it is made and each time
 * it is read: in a training loop that never yields to the event loop, a whole module with its parameters until the loop's end.
 * Costs a native object: where a WeakMap, a WeakSet or a tensor's handle is enough, use that.
 */
export class Weak<T extends object> {
  readonly #reference: unknown;

  constructor(target: T) {
    this.#reference = native.weakValue(target);
  }

  /** Undefined once it was collected. */
  get(): T | undefined {
    return native.weakTarget(this.#reference) as T | undefined;
  }
}
