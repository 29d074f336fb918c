/**
 * Objects whose properties are loaded when one of them is first used: an accessor for each, which then becomes an ordinary
 * property. Names, their order and the object itself are the same before and after.
 */
import { inspect } from 'node:util';
import { loading } from '../addon/late-module';

type Space = Record<string, unknown>;

/** Adds the names to `space`. `load` is called once; it may throw, and is then called again at the next use. */
export function defineLate(space: Space, names: readonly string[], load: () => Space): void {
  let values: Space | undefined;
  const mine = new WeakSet<object>();
  /** Only what is still an accessor of ours: the program may have deleted or replaced a name, or frozen the object. */
  const settle = (made: Space): Space => {
    values = made;
    for (const name of names) {
      const { get } = Object.getOwnPropertyDescriptor(space, name) ?? {};
      if (get === undefined || !mine.has(get)) continue;
      const value = made[name];
      Reflect.defineProperty(space, name, { value, writable: true, enumerable: true, configurable: true });
    }
    Reflect.deleteProperty(space, inspect.custom);
    return made;
  };
  const all = (): Space => values ?? settle(loading(load));
  for (const name of names) {
    const get = () => all()[name];
    mine.add(get);
    Object.defineProperty(space, name, {
      get,
      set(value) {
        all();
        const isFrozen = Object.getOwnPropertyDescriptor(space, name)?.get === get;
        if (isFrozen || !Reflect.set(space, name, value, this)) throw new TypeError(`${name} cannot be set`);
      },
      enumerable: true,
      configurable: true,
    });
  }
  // `console.log` shows accessors as such, so it loads too.
  Object.defineProperty(space, inspect.custom, {
    value(this: unknown) {
      all();
      return this;
    },
    configurable: true,
  });
}

/** A function with the name and length of another, which is looked up at each call. */
export function lateFunction(name: string, length: number, find: () => (...args: never[]) => unknown): unknown {
  const late = function (this: unknown, ...passed: unknown[]): unknown {
    return Reflect.apply(find(), this, passed);
  };
  return Object.defineProperties(late, {
    name: { value: name, configurable: true },
    length: { value: length, configurable: true },
  });
}
