/** torch.lu (torch/functional.py), and torch/_lowrank.py: approximate decompositions by random projection. */
import type { DType } from '../../types/base';
import { composed, define } from '../call/define';
import { since } from '../optim/release';
import type { Tensor } from '../tensor/tensor';
import { aten, linalg, sparse } from './ops';
import { refuse } from './support';

const isSparse = (a: Tensor) => a.layout === 'sparse_coo';
const matmul = (a: Tensor, b: Tensor): Tensor => (isSparse(a) ? sparse.mm!(a, b) : aten.matmul!(a, b));
const transposed = (a: Tensor) => a.transpose(-1, -2);
const conjugate = (a: Tensor) => (a.isComplex() ? a.conj() : a);
const adjoint = (a: Tensor) => conjugate(transposed(a));
const orthonormal = (a: Tensor): Tensor => linalg.qr!(a)[0];
const floating = (a: Tensor): DType =>
  a.isComplex() || ['float16', 'float32', 'float64'].includes(a.dtype) ? a.dtype : 'float32';

/** `a @ b - m @ b` */
function product(a: Tensor, m: Tensor | null, b: Tensor): Tensor {
  const whole = matmul(a, b);
  return m === null ? whole : whole.sub(matmul(m, b));
}

/** Before, a matrix with more columns than `q` is decomposed like a wide one: by a basis of its rows. */
const tallHasBasisOfColumns = since(2, 4);

/** Two or three are usual. A caller's 2^32 would not end within a day. */
const MAX_ITERATIONS = 2 ** 16;

/** Columns that approximately span the first singular vectors of `a - m`. */
function approximateBasis(a: Tensor, q: number, niter: number, m: Tensor | null): Tensor {
  const columns = a.shape[a.ndim - 1]!;
  const random = aten.randn!([columns, q], { dtype: floating(a), device: a.device }) as Tensor;
  const [aH, mH] = [adjoint(a), m && adjoint(m)];
  let basis = orthonormal(product(a, m, random));
  for (let i = 0; i < niter; i++) {
    basis = orthonormal(product(aH, mH, basis));
    basis = orthonormal(product(a, m, basis));
  }
  return basis;
}

function svdLowrank(a: Tensor, q: number, niter: number, m: Tensor | null): Tensor[] {
  const [rows, columns] = a.shape.slice(-2) as [number, number];
  const most = Math.min(rows, columns);
  if (q < 0 || q > most) throw refuse('svdLowrank', 'q', `an integer from 0 to ${most}`, q);
  if (niter > MAX_ITERATIONS) throw refuse('svdLowrank', 'niter', `an integer of at most ${MAX_ITERATIONS}`, niter);
  const shift = m === null ? null : m.broadcastTo(a.shape);
  if (!tallHasBasisOfColumns && (rows < columns || columns > q)) {
    const basis = approximateBasis(adjoint(a), q, niter, shift && adjoint(shift));
    const [u, s, vh] = linalg.svd!(product(a, shift, basis), false) as [Tensor, Tensor, Tensor];
    return [u, s, basis.matmul(adjoint(vh))];
  }
  const wide = rows < columns;
  const tall = wide ? adjoint(a) : a;
  const tallShift = shift && wide ? adjoint(shift) : shift;
  const basis = approximateBasis(tall, q, niter, tallShift);
  const projected = adjoint(product(adjoint(tall), tallShift && adjoint(tallShift), basis));
  const [u, s, vh] = linalg.svd!(projected, false) as [Tensor, Tensor, Tensor];
  const [left, right] = [basis.matmul(u), adjoint(vh)];
  return wide ? [right, s, left] : [left, s, right];
}

function pcaLowrank(a: Tensor, q: number | null, center: boolean, niter: number): Tensor[] {
  const [rows, columns] = a.shape.slice(-2) as [number, number];
  const wanted = q ?? Math.min(6, rows, columns);
  if (wanted < 0 || wanted > Math.min(rows, columns)) {
    throw refuse('pcaLowrank', 'q', `an integer from 0 to ${Math.min(rows, columns)}`, wanted);
  }
  if (niter < 0) throw refuse('pcaLowrank', 'niter', 'an integer of 0 or more', niter);
  if (!center) return svdLowrank(a, wanted, niter, null);
  if (!isSparse(a)) return svdLowrank(a.sub(a.mean([-2], true)), wanted, niter, null);
  if (a.ndim !== 2) throw refuse('pcaLowrank', 'A', 'a sparse Tensor of 2 dimensions', a);
  return svdLowrank(a, wanted, niter, columnMeans(a));
}

/** The means of a sparse matrix's columns, repeated for each row. */
function columnMeans(a: Tensor): Tensor {
  const rows = a.shape[0]!;
  const sums = aten._sparseSum!(a, [-2]).coalesce() as Tensor;
  const means = sums.toDense().div(rows);
  return means.unsqueeze(0).expand([rows, a.shape[1]!]);
}

function lu(a: Tensor, pivot: boolean, getInfos: boolean, out: Tensor[] | null): Tensor[] {
  const all = aten._luWithInfo!(a, { pivot, checkErrors: !getInfos }) as Tensor[];
  const results = [...all].slice(0, getInfos ? 3 : 2);
  if (out === null) return results;
  if (out.length !== results.length) throw refuse('lu', 'out', `${results.length} Tensors`, out);
  out.forEach((tensor, i) => {
    tensor.resizeAs_(results[i]!).copy_(results[i]!);
  });
  return out;
}

define([''], {
  pcaLowrank: composed(pcaLowrank),
  svdLowrank: composed((a: Tensor, q: number | null, niter: number | null, m: Tensor | null) =>
    svdLowrank(a, q ?? 6, niter ?? 2, m),
  ),
});
define(['', 'Tensor'], { lu: composed(lu) });
