/** torch.unique and torch.unique_consecutive: the requested tensors of the three that the ops give. */

import { define } from '../call/define';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { aten } from './ops';

type Three = readonly [Tensor, Tensor, Tensor];

/** The one, two or three requested tensors; the others are released. */
function chosen(returnInverse: boolean, returnCounts: boolean, run: () => Three): Tensor | Tensor[] {
  return ownScope(() => {
    const [output, inverse, counts] = run();
    if (returnInverse && returnCounts) return named([output, inverse, counts]);
    if (returnInverse) return [output, inverse];
    return returnCounts ? [output, counts] : output;
  });
}

function named(list: [Tensor, Tensor, Tensor]): Tensor[] {
  const [output, inverseIndices, counts] = list;
  for (const [name, value] of Object.entries({ output, inverseIndices, counts })) {
    Object.defineProperty(list, name, { value, writable: true });
  }
  return list;
}

define(['', 'Tensor'], {
  unique: (input: Tensor, sorted: boolean, inverse: boolean, counts: boolean, dim: number | null) =>
    chosen(inverse, counts, () =>
      dim === null
        ? aten._unique2!(input, sorted, inverse, counts)
        : aten.uniqueDim!(input, dim, sorted, inverse, counts),
    ),
  uniqueConsecutive: (input: Tensor, inverse: boolean, counts: boolean, dim: number | null) =>
    chosen(inverse, counts, () => aten.uniqueConsecutive!(input, inverse, counts, dim)),
});
