/**
 * Objects with a thousand functions. V8 keeps an object's properties in an array, where compiled code finds them without
 * a search and inlines what it calls, only up to 1,020 of them, and by itself only for prototypes. So the names that
 * programs seldom use (those with a leading underscore) live one prototype up, and V8 is shown a prototype.
 */

const isSeldom = (name: string) => name.startsWith('_');

/** Moves the names with a leading underscore to a prototype of their own between `object` and its present prototype. */
export function moveSeldomUp(object: object): void {
  const seldom: object = Object.create(Object.getPrototypeOf(object));
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
    if (!isSeldom(name) || !descriptor.configurable) continue;
    Object.defineProperty(seldom, name, descriptor);
    Reflect.deleteProperty(object, name);
  }
  Object.setPrototypeOf(object, makeFast(seldom));
  makeFast(object);
}

/** V8 gives a prototype fast properties once something is looked up through it. */
function makeFast<T extends object>(object: T): T {
  const instance = Object.create(object) as Record<string, unknown>;
  const look = () => instance.anything;
  look();
  look();
  return object;
}
