/** The options objects of hand-written functions. */
import { argumentError, refusal } from './errors';
import { didYouMean } from './suggest';

/** The options' own properties: what a program put on Object.prototype is no option of this call. Unknown ones are refused. */
export function ownOptions<T extends object>(fn: string, options: T, known: readonly (keyof T & string)[]): T {
  if (typeof options !== 'object' || options === null) throw argumentError(fn, 'options', 'an object', options);
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      const got = `'${name.slice(0, 60)}'${didYouMean(name, known)}`;
      throw refusal(fn, 'options', `options among ${known.join(', ')}`, got);
    }
  }
  return Object.assign(Object.create(null), options);
}
