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

/** The place of a hook in its list. */
interface Place {
  /** What the list finds the hook by; null once it was removed. */
  key: object | null;
}

/**
 * Knows neither the list nor the hook: a handle that a program keeps does not keep the owner of the list, nor a function that was
 * removed. (Not by a WeakRef, which would keep both until the running job ends.)
 */
function handleOf(place: Place): HookHandle {
  const remove = () => {
    place.key = null;
  };
  return { remove, [Symbol.dispose]: remove };
}

/** The hooks of one kind, in the order of their calls. A function that was registered twice is called twice. */
export class HookList<F> {
  private _places: readonly Place[] = [];
  /** Holds a hook as long as the list exists and the hook's place has its key. */
  private readonly _hooks = new WeakMap<object, F>();

  get size(): number {
    let count = 0;
    for (const { key } of this._places) if (key !== null) count++;
    return count;
  }

  /** Adds a hook for the public function `fn`. */
  add(fn: string, hook: F, options: HookOptions = {}): HookHandle {
    if (typeof hook !== 'function') throw argumentError(fn, 'hook', 'a function', hook);
    const { prepend = false } = ownOptions(fn, options, ['prepend']);
    if (typeof prepend !== 'boolean') throw argumentError(fn, 'prepend', 'a boolean', prepend);
    const key = {};
    const place: Place = { key };
    this._hooks.set(key, hook);
    const others = this._places.filter((one) => one.key !== null);
    this._places = prepend ? [place, ...others] : [...others, place];
    return handleOf(place);
  }

  /** A copy: a hook may remove itself. */
  all(): F[] {
    const hooks: F[] = [];
    for (const { key } of this._places) if (key !== null) hooks.push(this._hooks.get(key)!);
    return hooks;
  }
}
