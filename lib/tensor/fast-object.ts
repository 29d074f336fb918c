/**
 * Fast properties for objects with a thousand functions. V8 stores up to 1,020 properties so that compiled code finds them
 * without a search and can inline calls, and does so automatically only for prototypes. So rarely used names (those with a
 * leading underscore) move one prototype up, and the object is made to look like a prototype.
 */

const isRare = (name: string) => name.startsWith('_');

/** Moves the names with a leading underscore to a new prototype between `object` and its current prototype. */
export function moveRareNamesUp(object: object): void {
  const rare: object = Object.create(Object.getPrototypeOf(object));
  for (const name of Object.getOwnPropertyNames(object).filter(isRare)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, name)!;
    if (!descriptor.configurable) continue;
    Object.defineProperty(rare, name, descriptor);
    Reflect.deleteProperty(object, name);
  }
  Object.setPrototypeOf(object, makeFast(rare));
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
