/** torch.nn.utils.parametrizations: orthogonal matrices, and norms of weights. */
import { inGradMode } from '../../autograd/mode';
import { argumentError, codedError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Args, flag, int, orNull, read, text } from '../arguments';
import { Module } from '../module';
import { aten, F, linalg } from '../ops';
import { propertiesOf } from './computed';
import { aModule } from './kinds';
import { asMatrix, randomUnit, type SpectralArgs, spectralArguments, unit } from './norms';
import { type Parametrized, registerParametrization } from './parametrize';

type OrthogonalMap = 'matrix_exp' | 'cayley' | 'householder';

const at = (fn: string) => `nn.utils.parametrizations.${fn}`;

function tensorOf(fn: string, module: Module, name: string): Tensor {
  const value: unknown = propertiesOf(module)[name];
  if (isTensor(value)) return value;
  throw argumentError(at(fn), 'name', `a parameter or buffer of ${module.constructor.name}`, name);
}

const identity = (size: number, like: Tensor): Tensor =>
  aten.eye(size, { dtype: like.dtype, device: like.device }) as Tensor;

const EPSILON: Readonly<Record<string, number>> = { float64: 2 ** -52, complex128: 2 ** -52 };

function isOrthogonal(q: Tensor): boolean {
  const [n, k] = q.shape.slice(-2) as [number, number];
  const atol = 10 * n * (EPSILON[q.dtype] ?? 2 ** -23);
  return aten.allclose((q.mH as Tensor).matmul(q), identity(k, q), { atol }) as boolean;
}

/** The orthogonal factor of a tall matrix, for a triangular one with a real positive diagonal. */
function madeOrthogonal(tall: Tensor): Tensor {
  const [x, tau] = aten.geqrf(tall) as [Tensor, Tensor];
  const q = linalg.householderProduct(x, tau) as Tensor;
  return q.mul_((x.diagonal({ dim1: -2, dim2: -1 }).sgn() as Tensor).unsqueeze(-2)) as Tensor;
}

const Orthogonal = class _Orthogonal extends Module {
  readonly shape: readonly number[];
  readonly orthogonalMap: OrthogonalMap;
  declare base: Tensor | null;

  constructor(weight: Tensor, orthogonalMap: OrthogonalMap, useTrivialization: boolean) {
    super();
    this.shape = [...weight.shape];
    this.orthogonalMap = orthogonalMap;
    if (useTrivialization) this.registerBuffer('base', null);
  }

  override forward(given: Tensor): Tensor {
    return ownScope(() => {
      const [rows, columns] = given.shape.slice(-2) as [number, number];
      const isWide = rows < columns;
      const x = isWide ? (given.mT as Tensor) : given;
      let q = this.orthogonalMap === 'householder' ? this._reflected(x) : this._mapped(x);
      if (this._isTrivialized()) q = this.base!.matmul(q) as Tensor;
      return isWide ? (q.mT as Tensor) : q;
    });
  }

  /** @internal */
  _isTrivialized(): boolean {
    return this._state.buffers.has('base');
  }

  /** Maps a skew-symmetric matrix. */
  /** @internal */
  _mapped(tall: Tensor): Tensor {
    const [n, k] = tall.shape.slice(-2) as [number, number];
    let x = tall.tril() as Tensor;
    if (n !== k) {
      const zeros = (x.newZeros([n, n - k]) as Tensor).expand([...x.shape.slice(0, -2), n, n - k]);
      x = aten.cat([x, zeros], -1) as Tensor;
    }
    const a = x.sub(x.mH) as Tensor;
    const half = (alpha: number) => identity(n, a).add(a, { alpha }) as Tensor;
    const q: Tensor = this.orthogonalMap === 'matrix_exp' ? aten.matrixExp(a) : linalg.solve(half(-0.5), half(0.5));
    return n === k ? q : (q.slice(-1, 0, k) as Tensor);
  }

  /** A product of reflections. */
  /** @internal */
  _reflected(tall: Tensor): Tensor {
    const a = tall.tril(-1) as Tensor;
    const squares = (a.mul(a) as Tensor).sum(-2) as Tensor;
    const tau = (squares.add(1).reciprocal() as Tensor).mul(2) as Tensor;
    const q = linalg.householderProduct(a, tau) as Tensor;
    const signs = tall.diagonal({ dim1: -2, dim2: -1 }).to('int32') as Tensor;
    return q.mul(signs.unsqueeze(-2)) as Tensor;
  }

  rightInverse(given: Tensor): Tensor {
    if (given.shape.join() !== this.shape.join()) {
      throw argumentError(at('orthogonal'), 'value', `a Tensor of shape [${this.shape.join(', ')}]`, given);
    }
    return inGradMode(false, () =>
      ownScope(() => {
        const [rows, columns] = given.shape.slice(-2) as [number, number];
        const isWide = rows < columns;
        const q = isWide ? (given.mT as Tensor) : given;
        return this._isTrivialized() ? this._based(given, q) : this._factored(q, isWide);
      }),
    );
  }

  /** The reflections whose product is a matrix. */
  /** @internal */
  _factored(q: Tensor, isWide: boolean): Tensor {
    if (this.orthogonalMap !== 'householder') {
      const expected = "expected 'householder' or useTrivialization for a value of your own";
      throw codedError(
        Error,
        'ERR_TORCH_NOT_IMPLEMENTED',
        `${at('orthogonal')}: ${expected}, got ${this.orthogonalMap}`,
      );
    }
    const [a, tau] = aten.geqrf(q) as [Tensor, Tensor];
    const diagonal = a.diagonal({ dim1: -2, dim2: -1 }) as Tensor;
    diagonal.sign_();
    // A reflection that LAPACK leaves out has a tau of exactly zero.
    diagonal.mul_(
      (tau.eq(0) as Tensor)
        .to(a.dtype as never)
        .mul(-2)
        .add(1) as Tensor,
    );
    return isWide ? (a.mT as Tensor) : a;
  }

  /** Makes the value the base. */
  /** @internal */
  _based(given: Tensor, tall: Tensor): Tensor {
    const [n, k] = tall.shape.slice(-2) as [number, number];
    if (n !== k) {
      const more = aten.randn([...tall.shape.slice(0, -2), n, n - k], { dtype: tall.dtype, device: tall.device });
      this.base = madeOrthogonal(aten.cat([tall, more], -1) as Tensor);
    } else this.base = isOrthogonal(tall) ? (tall.clone() as Tensor) : madeOrthogonal(tall);
    // The diagonal of -1 is the identity of the product of reflections.
    const start = aten.zerosLike(given) as Tensor;
    start.diagonal({ dim1: -2, dim2: -1 }).fill_(-1);
    return start;
  }
};

const orthogonalSpec = {
  module: aModule,
  name: text('weight'),
  orthogonalMap: orNull(
    text<OrthogonalMap | 'matrixExp'>(undefined, ['matrix_exp', 'matrixExp', 'cayley', 'householder']),
  ),
  useTrivialization: flag(true),
};

/** Keeps a matrix orthogonal: its columns, or the rows of a wide one, are orthonormal. */
export function orthogonal<M extends Module, N extends string = 'weight'>(
  ...passed: Args<
    [module: M, name?: N, orthogonalMap?: OrthogonalMap | 'matrixExp' | null, useTrivialization?: boolean],
    typeof orthogonalSpec
  >
): M & Parametrized<N> {
  const given = read('utils.parametrizations.orthogonal', orthogonalSpec, passed);
  const { module, name, useTrivialization } = given;
  return ownScope(() => {
    const weight = tensorOf('orthogonal', module, name);
    if (weight.ndim < 2) throw argumentError(at('orthogonal'), 'name', 'a matrix or a batch of them', weight);
    const isSquare = weight.shape.at(-2) === weight.shape.at(-1);
    const map = given.orthogonalMap ?? (isSquare || weight.isComplex() ? 'matrix_exp' : 'householder');
    if (weight.isComplex() && map === 'householder') {
      throw argumentError(at('orthogonal'), 'orthogonalMap', "'matrix_exp' or 'cayley' for complex values", map);
    }
    const one = new Orthogonal(weight, map === 'matrixExp' ? 'matrix_exp' : map, useTrivialization);
    return registerParametrization(module, name, one, { unsafe: true }) as unknown as M & Parametrized<N>;
  }, false);
}

const SpectralNorm = class _SpectralNorm extends Module {
  readonly dim: number;
  readonly eps: number;
  readonly nPowerIterations: number;
  declare _u: Tensor;
  declare _v: Tensor;

  constructor(weight: Tensor, nPowerIterations: number, dim: number, eps: number) {
    super();
    this.dim = dim < 0 ? dim + weight.ndim : dim;
    this.eps = eps;
    this.nPowerIterations = nPowerIterations;
    if (weight.ndim < 2) return;
    const plain = weight.detach() as Tensor;
    const matrix = asMatrix(plain, this.dim);
    const [height, width] = matrix.shape as [number, number];
    // Both vectors are drawn before they are scaled, which draws nothing.
    this.registerBuffer('_u', randomUnit(plain, height, eps));
    this.registerBuffer('_v', randomUnit(plain, width, eps));
    this._iterate(matrix, 15);
  }

  /** @internal */
  _iterate(matrix: Tensor, count: number): void {
    inGradMode(false, () => {
      for (let i = 0; i < count; i++) {
        unit(matrix.mv(this._v) as Tensor, this.eps, this._u);
        unit((matrix.isComplex() ? (matrix.mH as Tensor) : (matrix.t() as Tensor)).mv(this._u), this.eps, this._v);
      }
    });
  }

  override forward(weight: Tensor): Tensor {
    return ownScope(() => {
      if (weight.ndim === 1) return F.normalize(weight, { dim: 0, eps: this.eps }) as Tensor;
      const matrix = asMatrix(weight, this.dim);
      if (this.training) this._iterate(matrix, this.nPowerIterations);
      // The next forward changes the buffers, and backward needs these values.
      const u = this._u.clone() as Tensor;
      const v = this._v.clone() as Tensor;
      return weight.div(u.vdot(matrix.mv(v) as Tensor) as Tensor) as Tensor;
    });
  }

  rightInverse(value: Tensor): Tensor {
    return value;
  }
};

/** Divides a weight by its largest singular value, which power iterations estimate. */
export function spectralNorm<M extends Module>(...passed: SpectralArgs<M>): M & Parametrized<'weight'> {
  const { module, name, nPowerIterations, eps, dim } = spectralArguments('parametrizations.spectralNorm', passed);
  return ownScope(() => {
    const weight = tensorOf('spectralNorm', module, name);
    if (dim < -weight.ndim || dim >= weight.ndim) {
      throw argumentError(at('spectralNorm'), 'dim', `a dimension from ${-weight.ndim} to ${weight.ndim - 1}`, dim);
    }
    const one = new SpectralNorm(weight, nPowerIterations, dim, eps);
    return registerParametrization(module, name, one) as unknown as M & Parametrized<'weight'>;
  }, false);
}

const WeightNorm = class _WeightNorm extends Module {
  readonly dim: number;

  constructor(dim: number | null) {
    super();
    this.dim = dim ?? -1;
  }

  override forward(g: Tensor, v: Tensor): Tensor {
    return aten._weightNorm(v, g, this.dim);
  }

  rightInverse(weight: Tensor): Tensor[] {
    return [aten.normExceptDim(weight, 2, this.dim), weight];
  }
};

const weightSpec = { module: aModule, name: text('weight'), dim: orNull(int(0)) };

/** Computes a weight as `g * v / |v|`: `original0` is g, `original1` is v. Loads state dicts of `nn.utils.weightNorm` too. */
export function weightNorm<M extends Module>(
  ...passed: Args<[module: M, name?: string, dim?: number | null], typeof weightSpec>
): M & Parametrized<'weight'> {
  const { module, name, dim } = read('utils.parametrizations.weightNorm', weightSpec, passed);
  tensorOf('weightNorm', module, name);
  const key = module._keyOf(name);
  registerParametrization(module, name, new WeightNorm(dim), { unsafe: true });
  module.registerLoadStateDictPreHook((dict, prefix) => {
    const [g, v] = [dict[`${prefix}${key}_g`], dict[`${prefix}${key}_v`]];
    if (g === undefined || v === undefined) return;
    delete dict[`${prefix}${key}_g`];
    delete dict[`${prefix}${key}_v`];
    dict[`${prefix}parametrizations.${key}.original0`] = g;
    dict[`${prefix}parametrizations.${key}.original1`] = v;
  });
  return module as unknown as M & Parametrized<'weight'>;
}
