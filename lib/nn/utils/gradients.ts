/** Clipping of gradients, and parameters as one vector. */
import { byName } from '../../addon/options';
import { flagOf } from '../../autograd/grad';
import { inGradMode } from '../../autograd/mode';
import { argumentError, codedError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { bare } from '../../tensor/second-name';
import { isTensor, requireLive, type Tensor } from '../../tensor/tensor';
import { aten } from '../ops';
import { setData } from '../parameter';

type Tensors = Tensor | Iterable<Tensor>;

function listOf(fn: string, parameters: Tensors): Tensor[] {
  if (isTensor(parameters)) return [bare(parameters)];
  if (typeof (parameters as Iterable<Tensor> | null)?.[Symbol.iterator] !== 'function') {
    throw argumentError(`nn.utils.${fn}`, 'parameters', 'a Tensor or a list of Tensors', parameters);
  }
  const list = [...parameters].map((one) => bare(one));
  // The place, since a hole of the list is undefined.
  const wrong = list.findIndex((one) => !isTensor(one));
  if (wrong >= 0) throw argumentError(`nn.utils.${fn}`, 'parameters', 'Tensors', list[wrong]);
  for (const [i, one] of list.entries()) requireLive(`nn.utils.${fn}`, `parameters[${i}]`, one);
  return list;
}

const gradsOf = (parameters: readonly Tensor[]): Tensor[] =>
  parameters.map(({ grad }) => grad).filter((grad): grad is Tensor => grad !== null);

function demandNumber(fn: string, name: string, value: unknown): void {
  if (typeof value !== 'number') throw argumentError(`nn.utils.${fn}`, name, 'a number', value);
}

export interface ClipOptions {
  /** Infinity for the largest value. Default: 2. */
  normType?: number | undefined;
  /** Throw for a norm that is not finite. Default: false. */
  errorIfNonfinite?: boolean | undefined;
}

/** Scales gradients in place, so that their norm is at most `maxNorm`. Gives the norm before. */
export function clipGradNorm_(
  parameters: Tensors,
  maxNorm: number,
  normType?: ClipOptions | number,
  errorIfNonfinite?: boolean,
): Tensor;
export function clipGradNorm_(parameters: Tensors, options: ClipOptions & { maxNorm: number }): Tensor;
export function clipGradNorm_(...passed: unknown[]): Tensor {
  const fn = 'clipGradNorm_';
  const names = ['parameters', 'maxNorm', 'normType', 'errorIfNonfinite'];
  const given = byName(`nn.utils.${fn}`, names, 1, passed);
  const { maxNorm, normType = 2 } = given as { maxNorm: number; normType?: number };
  const errorIfNonfinite = flagOf(`nn.utils.${fn}`, 'errorIfNonfinite', given.errorIfNonfinite, false);
  const list = listOf(fn, given.parameters as Tensors);
  demandNumber(fn, 'maxNorm', maxNorm);
  demandNumber(fn, 'normType', normType);
  return inGradMode(false, () =>
    ownScope(() => {
      const grads = gradsOf(list);
      if (grads.length === 0) return aten.zeros([]) as Tensor;
      const { device } = grads[0]!;
      const on = (tensor: Tensor): Tensor => (tensor.device === device ? tensor : (tensor.to(device) as Tensor));
      const norm = (tensor: Tensor): Tensor =>
        normType === Number.POSITIVE_INFINITY ? (tensor.abs().max() as Tensor) : aten.norm(tensor, normType);
      const norms = aten.stack(grads.map((grad) => on(norm(grad)))) as Tensor;
      const total = norm(norms);
      if (errorIfNonfinite && !Number.isFinite(Number(total.item()))) {
        const message = `nn.utils.${fn}: expected finite gradients, got a norm of ${total.item()}`;
        throw codedError(Error, 'ERR_TORCH_RUNTIME', message);
      }
      const factor = total.add(1e-6).reciprocal().mul(maxNorm).clamp({ max: 1 }) as Tensor;
      for (const grad of grads) grad.mul_(grad.device === device ? factor : (factor.to(grad.device) as Tensor));
      return total;
    }),
  );
}

/** Limits each value of the gradients in place to `-clipValue` to `clipValue`. */
export function clipGradValue_(parameters: Tensors, clipValue: number | { clipValue: number }): void;
export function clipGradValue_(...passed: unknown[]): void {
  const given = byName('nn.utils.clipGradValue_', ['parameters', 'clipValue'], 1, passed);
  const { clipValue } = given as { clipValue: number };
  const list = listOf('clipGradValue_', given.parameters as Tensors);
  demandNumber('clipGradValue_', 'clipValue', clipValue);
  inGradMode(false, () =>
    ownScope(() => {
      for (const grad of gradsOf(list)) grad.clamp_({ min: -clipValue, max: clipValue });
    }),
  );
}

/** All values in one dimension. */
export function parametersToVector(parameters: Tensors): Tensor {
  const list = listOf('parametersToVector', parameters);
  return ownScope(() => aten.cat(list.map((one) => one.reshape(-1))) as Tensor);
}

/** Makes the parameters views of the parts of a vector, as Python does. */
export function vectorToParameters(given: Tensor, parameters: Tensors): void {
  const list = listOf('vectorToParameters', parameters);
  if (!isTensor(given)) throw argumentError('nn.utils.vectorToParameters', 'vector', 'a Tensor', given);
  const vector = bare(given);
  const count = list.reduce((sum, one) => sum + one.numel, 0);
  if (vector.ndim !== 1 || vector.numel < count) {
    throw argumentError('nn.utils.vectorToParameters', 'vector', `${count} values in one dimension`, vector);
  }
  inGradMode(false, () =>
    ownScope(() => {
      let at = 0;
      for (const one of list) {
        const end = at + one.numel;
        setData(one, vector.detach().slice(0, at, end).viewAs(one) as Tensor);
        at = end;
      }
    }),
  );
}
