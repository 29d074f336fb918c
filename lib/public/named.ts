/** Names of dimensions one by one, with '...' for the rest, or as a map (torch/_namedtensor_internals.py). */

import { isDimensionName } from '../call/convert';
import { define } from '../call/define';
import type { Tensor } from '../tensor/tensor';
import { refuse } from './support';

const ELLIPSIS = '...';
type Name = string | null;

/** Ops that some versions of libtorch lack; without them these functions do not exist either. */
type Named = Record<'alignTo' | 'refineNames' | 'rename' | 'rename_' | 'unflatten', (...args: unknown[]) => Tensor> & {
  readonly names: Name[];
};

function checked(fn: string, names: unknown[]): Name[] {
  const list = names.length === 1 && Array.isArray(names[0]) ? (names[0] as unknown[]) : names;
  for (const name of list) {
    // The op would refuse another name, and the call would come back to this function.
    if (name !== null && name !== ELLIPSIS && !isDimensionName(name)) {
      throw refuse(fn, 'names', 'names, null for none', name);
    }
  }
  if (list.filter((name) => name === ELLIPSIS).length > 1) throw refuse(fn, 'names', "at most one '...'", list);
  return list as Name[];
}

/** Expands '...' to the tensor's current names. */
function resolved(self: Named, names: Name[]): Name[] {
  const at = names.indexOf(ELLIPSIS);
  if (at < 0) return names;
  const after = names.length - at - 1;
  const own = self.names;
  return [...names.slice(0, at), ...own.slice(at, own.length - after), ...names.slice(at + 1)];
}

/** A single null removes all names. */
const renaming = (fn: string, self: Named, names: unknown[]): Name[] | null =>
  names.length === 1 && names[0] === null ? null : resolved(self, checked(fn, names));

define(['Tensor'], {
  alignTo: (self: Named, names: unknown[]) => {
    const list = checked('alignTo', names);
    const at = list.indexOf(ELLIPSIS);
    if (at < 0) return self.alignTo(list);
    return self.alignTo(
      list.filter((name) => name !== ELLIPSIS),
      at,
    );
  },
  refineNames: (self: Named, names: unknown[]) => self.refineNames(resolved(self, checked('refineNames', names))),
  rename: (self: Named, names: unknown[]) => self.rename(renaming('rename', self, names)),
  rename_: (self: Named, names: unknown[]) => self.rename_(renaming('rename_', self, names)),
  unflatten: (self: Named, dim: unknown, sizes: unknown) => {
    if (!Array.isArray(sizes) || !sizes.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw refuse('unflatten', 'sizes', 'sizes, or pairs of a name and a size', sizes);
    }
    const pairs = sizes as [string, number][];
    return self.unflatten(
      dim,
      pairs.map(([, size]) => size),
      pairs.map(([name]) => name),
    );
  },
});
