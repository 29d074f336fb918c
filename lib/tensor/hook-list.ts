/** Functions that a program registers, to be called at an event. */
import { ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';

/** Removes a hook. */
export interface HookHandle {
  /** Stops calling the function. Further calls do nothing. */
  remove(): void;
  [Symbol.dispose](): void;
}

export interface HookOptions {
  /** Call this hook before those that are there. Default: false. */
  prepend?: boolean | undefined;
}

/** A hook in its list, which alone holds it. */
interface Registered<F> {
  readonly hook: F;
  remove(): void;
}

/** Weak: a handle that a program keeps does not keep the owner of the list, nor a function that was removed. */
function handleOf(registered: WeakRef<Registered<unknown>>): HookHandle {
  const remove = () => registered.deref()?.remove();
  return { remove, [Symbol.dispose]: remove };
}

/** The hooks of one kind, in the order of their calls. A function that was registered twice is called twice. */
export class HookList<F> {
  #all: readonly Registered<F>[] = [];

  get size(): number {
    return this.#all.length;
  }

  /** Adds a hook for the public function `fn`. `changed` is called when a hook was added or removed. */
  add(fn: string, hook: F, options: HookOptions = {}, changed: () => void = () => {}): HookHandle {
    if (typeof hook !== 'function') throw argumentError(fn, 'hook', 'a function', hook);
    const { prepend = false } = ownOptions(fn, options, ['prepend']);
    if (typeof prepend !== 'boolean') throw argumentError(fn, 'prepend', 'a boolean', prepend);
    const remove = () => {
      this.#all = this.#all.filter((one) => one !== own);
      changed();
    };
    const own: Registered<F> = { hook, remove };
    this.#all = prepend ? [own, ...this.#all] : [...this.#all, own];
    changed();
    return handleOf(new WeakRef(own));
  }

  /** A copy: a hook may remove itself. */
  all(): F[] {
    return this.#all.map(({ hook }) => hook);
  }
}
