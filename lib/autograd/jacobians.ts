/** Full Jacobians and Hessians, row by row: one backward for each element of the function's results. */

import { ownOptions } from '../addon/options';
import { argumentError, codedError, refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { flagOf } from './grad';
import { inGradMode } from './mode';
import { gradients, JACOBIAN, OUTPUT, prepared, requireDepends } from './products';
import {
  callFunc,
  callScalarFunc,
  type Flags,
  type Func,
  failure,
  flagsOf,
  inputsOf,
  Made,
  ops,
  type ProductOptions,
  refuseRecording,
  requireFunc,
  type Tuple,
} from './tuples';

/** How a Jacobian is computed. */
type Strategy = 'reverse-mode' | 'forward-mode';

export interface JacobianOptions extends ProductOptions {
  /** In PyTorch, one batched backward. Accepted here, with the same result, but computed row by row. Not with `strict`. */
  vectorize?: boolean | undefined;
  /** Only 'reverse-mode' is supported; 'forward-mode' is refused. */
  strategy?: 'reverse-mode' | undefined;
}

export interface HessianOptions extends ProductOptions {
  /** As in `jacobian`. */
  vectorize?: boolean | undefined;
  /** As `strategy` of `jacobian`. */
  outerJacobianStrategy?: 'reverse-mode' | undefined;
}

function requireReverse(name: string, option: string, strategy: unknown): void {
  const known: unknown[] = ['reverse-mode', 'forward-mode'] satisfies Strategy[];
  if (strategy === undefined || strategy === 'reverse-mode') return;
  if (!known.includes(strategy)) throw argumentError(name, option, "'reverse-mode' or 'forward-mode'", strategy);
  const text = `${name}: argument '${option}': expected 'reverse-mode', got 'forward-mode', which needs forward-mode derivatives`;
  throw Object.assign(codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', text), { op: name, argument: option });
}

function requireNotBoth(name: string, vectorize: unknown, { strict }: Flags): void {
  if (flagOf(name, 'vectorize', vectorize, false) && strict) {
    throw refusal(name, 'vectorize', 'false with strict', 'true');
  }
}

/** The Jacobian of each result with respect to each input. `made` owns the inputs and all tensors made here. */
function jacobianOf(
  name: string,
  call: (inputs: Tensor[]) => Tuple,
  given: readonly Tensor[],
  made: Made,
  flags: Flags,
) {
  const { createGraph, strict } = flags;
  return inGradMode(true, () => {
    const inputs = prepared(made, given, createGraph, true);
    const outputs = call(inputs);
    requireDepends(name, OUTPUT, outputs.tensors, strict);
    const blocks = outputs.tensors.map((output, i) => {
      const flat = made.own(output.reshape([-1]) as Tensor);
      const rows: Tensor[][] = inputs.map(() => []);
      for (let j = 0; j < output.numel; j++) {
        const element = made.own(flat.select(0, j) as Tensor);
        const row = gradients(made, [element], inputs, null, { createGraph, retain: true });
        row.forEach((part, k) => {
          requireRow(name, part, i, k, flags);
          rows[k]!.push(part ?? made.own(ops().zerosLike!(inputs[k]!)));
        });
      }
      return inputs.map((input, k) => {
        const stacked = made.own(ops().stack!(rows[k]!));
        return made.own(stacked.view([...output.shape, ...input.shape]) as Tensor);
      });
    });
    return { blocks, single: outputs.single };
  });
}

function requireRow(name: string, part: Tensor | null, output: number, input: number, flags: Flags): void {
  if (!flags.strict) return;
  const of = `result ${output} of the function`;
  if (part === null) throw failure(name, `${of} does not depend on inputs[${input}], which strict refuses`);
  if (flags.createGraph && !part.requiresGrad) {
    throw failure(
      name,
      `the Jacobian of ${of} does not depend on inputs[${input}], which strict refuses with createGraph`,
    );
  }
}

/** Detaches the blocks unless a graph is requested, and unwraps arrays where the program passed single tensors. */
function finish(blocks: Tensor[][], results: Tensor[], createGraph: boolean, isOne: [boolean, boolean]): unknown {
  const done = blocks.map((row) => row.map((block) => (createGraph ? block : (block.detach() as Tensor))));
  results.push(...done.flat());
  const rows = isOne[1] ? done.map((row) => row[0]!) : done;
  return isOne[0] ? rows[0]! : rows;
}

export function runJacobian(func: unknown, inputs: unknown, options: JacobianOptions): unknown {
  const name = 'autograd.functional.jacobian';
  refuseRecording(name);
  requireFunc(name, func);
  const given = inputsOf(name, inputs);
  const asked = ownOptions(name, options, ['createGraph', 'strict', 'vectorize', 'strategy']);
  const flags = flagsOf(name, asked);
  requireReverse(name, 'strategy', asked.strategy);
  requireNotBoth(name, asked.vectorize, flags);
  const made = new Made();
  const results: Tensor[] = [];
  try {
    const call = (ready: Tensor[]) => callFunc(name, func, ready);
    const { blocks, single } = jacobianOf(name, call, given.tensors, made, flags);
    return finish(blocks, results, flags.createGraph, [single, given.single]);
  } finally {
    made.end(results);
  }
}

/** Computes the Jacobian of the gradient. */
export function runHessian(func: Func, inputs: unknown, options: HessianOptions): unknown {
  const name = 'autograd.functional.hessian';
  refuseRecording(name);
  requireFunc(name, func);
  const given = inputsOf(name, inputs);
  const asked = ownOptions(name, options, ['createGraph', 'strict', 'vectorize', 'outerJacobianStrategy']);
  const flags = flagsOf(name, asked);
  requireReverse(name, 'outerJacobianStrategy', asked.outerJacobianStrategy);
  requireNotBoth(name, asked.vectorize, flags);
  const made = new Made();
  const results: Tensor[] = [];
  const scalar = (ready: Tensor[]): Tuple => {
    const outputs = callScalarFunc(name, func, ready);
    requireDepends(name, OUTPUT, outputs.tensors, flags.strict);
    return { single: true, tensors: [made.own(outputs.tensors[0]!.squeeze() as Tensor)] };
  };
  const gradient = (ready: Tensor[]): Tuple => {
    const { blocks } = jacobianOf(name, scalar, ready, made, { createGraph: true, strict: false });
    requireDepends(name, JACOBIAN, blocks[0]!, flags.strict);
    return { single: false, tensors: blocks[0]! };
  };
  try {
    const { blocks } = jacobianOf(name, gradient, given.tensors, made, flags);
    return finish(blocks, results, flags.createGraph, [given.single, given.single]);
  } finally {
    made.end(results);
  }
}
