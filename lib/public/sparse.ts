/** torch.sparse.sum. */
import type { Tensor } from '../tensor';
import { define } from './define';
import { aten } from './ops';

define(['sparse'], {
  sum: (input: Tensor, dim: number[] | null, dtype: string | null) => {
    const options = dtype === null ? {} : { dtype };
    return dim === null ? aten._sparseSum!(input, options) : aten._sparseSum!(input, dim, options);
  },
});
