/** Products with Jacobians and Hessians: vjp, jvp, vhp and hvp, with the semantics of torch.autograd.functional's. */
import { native } from '../addon/native';
import type { Tensor } from '../tensor/tensor';
import { gradientsOf } from './grad';
import { inGradMode } from './mode';
import {
  callFunc,
  callScalarFunc,
  type Flags,
  type Func,
  failure,
  inputsOf,
  Made,
  ops,
  refuseRecording,
  requireFunc,
  type Tuple,
  vectorAndFlags,
  vectorOf,
} from './tuples';

/**
 * The tensors to differentiate with respect to: new ones, so that tensors of the program that its function captures count as
 * constants. With `createGraph` they are connected to the program's.
 */
export function prepared(made: Made, tensors: readonly Tensor[], createGraph: boolean, requires: boolean): Tensor[] {
  return tensors.map((tensor) => {
    if (!createGraph || !tensor.requiresGrad)
      return made.own(tensor.detach() as Tensor).requiresGrad_(requires) as Tensor;
    return made.own((tensor.layout === 'strided' ? tensor.viewAs(tensor) : tensor.clone()) as Tensor);
  });
}

export interface Wanted {
  readonly createGraph: boolean;
  readonly retain: boolean;
}

/** Gradients of the `outputs` that require them; null for an input that none of them depends on. */
export function gradients(
  made: Made,
  outputs: readonly (Tensor | null)[],
  inputs: readonly Tensor[],
  vectors: readonly (Tensor | null)[] | null,
  { createGraph, retain }: Wanted,
): (Tensor | null)[] {
  const from: Tensor[] = [];
  const given: (Tensor | null)[] = [];
  outputs.forEach((output, i) => {
    if (output?.requiresGrad !== true) return;
    from.push(output);
    given.push(vectors === null ? null : vectors[i]!);
  });
  if (from.length === 0) return inputs.map(() => null);
  return made.ownAll(gradientsOf({ outputs: from, inputs, createGraph, allowUnused: true }, given, retain));
}

const graph: Wanted = { createGraph: true, retain: true };

export function requireDepends(name: string, what: string, tensors: readonly (Tensor | null)[], strict: boolean): void {
  if (!strict) return;
  tensors.forEach((tensor, i) => {
    const text = `${what.replace('%', String(i))}, which strict refuses`;
    if (tensor === null) throw failure(name, `expected a result that depends on inputs[${i}], got one that does not`);
    if (!tensor.requiresGrad) throw failure(name, text);
  });
}

export const OUTPUT = 'result % of the function does not depend on the inputs';
export const JACOBIAN = 'the gradient with respect to inputs[%] does not depend on the inputs';

/** Zeros for missing gradients, or an error with `strict`. */
function filled(name: string, made: Made, found: (Tensor | null)[], like: readonly Tensor[], of: string, flags: Flags) {
  return found.map((tensor, i) => {
    if (flags.strict && (tensor === null || (flags.createGraph && !tensor.requiresGrad))) {
      const how = tensor === null ? '' : ' in a way that can be differentiated (createGraph)';
      throw failure(
        name,
        `expected a result that depends on ${of}[${i}]${how}, got one that does not, which strict refuses`,
      );
    }
    return tensor ?? made.own(ops().zerosLike!(like[i]!));
  });
}

/** Detaches the tensors unless a graph is requested; `shaped` unwraps a single tensor. */
const finished = (tensors: readonly Tensor[], createGraph: boolean): Tensor[] =>
  createGraph ? [...tensors] : tensors.map((tensor) => tensor.detach() as Tensor);
const shaped = (tensors: readonly Tensor[], single: boolean) => (single ? tensors[0]! : [...tensors]);

/** The results of each of the four functions. */
interface Product {
  readonly outputs: Tuple;
  readonly found: Tensor[];
  readonly single: boolean;
}

type Body = (made: Made, inputs: Tuple, v: unknown, flags: Flags) => Product;

/** Reads arguments, computes, and frees intermediate tensors. */
function product(name: string, [func, inputs, third, fourth]: readonly unknown[], body: (func: Func) => Body) {
  refuseRecording(name);
  requireFunc(name, func);
  const given = inputsOf(name, inputs);
  const { v, flags } = vectorAndFlags(name, third, fourth);
  const made = new Made();
  const results: Tensor[] = [];
  try {
    const { outputs, found, single } = body(func)(made, given, v, flags);
    const values = finished(outputs.tensors, flags.createGraph);
    results.push(...values);
    const products = finished(found, flags.createGraph);
    results.push(...products);
    return [shaped(values, outputs.single), shaped(products, single)];
  } finally {
    made.end(results);
  }
}

const vjpBody =
  (name: string) =>
  (func: Func): Body =>
  (made, given, v, flags) => {
    const before = native.gradEnabled();
    const { createGraph, strict } = flags;
    const [inputs, outputs, vectors] = inGradMode(true, () => {
      const ready = prepared(made, given.tensors, createGraph, true);
      const results = callFunc(name, func, ready);
      requireDepends(name, OUTPUT, results.tensors, strict);
      const vector = vectorOf(name, v, results, 'the results of the function');
      return [ready, results, vector && prepared(made, vector, createGraph, false)] as const;
    });
    const found = inGradMode(createGraph || before, () => {
      const wanted = { createGraph, retain: createGraph };
      const all = gradients(made, outputs.tensors, inputs, vectors, wanted);
      return filled(name, made, all, inputs, 'inputs', flags);
    });
    return { outputs, found, single: given.single };
  };

const jvpBody =
  (name: string) =>
  (func: Func): Body =>
  (made, given, v, flags) => {
    const before = native.gradEnabled();
    const { createGraph, strict } = flags;
    const [outputs, doubled, seeds, vectors] = inGradMode(true, () => {
      const inputs = prepared(made, given.tensors, createGraph, true);
      const vector = vectorOf(name, v, given, 'the inputs');
      const ready = vector && prepared(made, vector, createGraph, false);
      const results = callFunc(name, func, inputs);
      requireDepends(name, OUTPUT, results.tensors, strict);
      // A backward is linear in these, so its derivative with respect to them, applied to v, is the product, whatever their values.
      const zeros = made.ownAll(results.tensors.map((result) => ops().zerosLike!(result).requiresGrad_() as Tensor));
      const first = gradients(made, results.tensors, inputs, zeros, graph);
      requireDepends(name, JACOBIAN, first, strict);
      return [results, first, zeros, ready] as const;
    });
    const found = inGradMode(createGraph || before, () => {
      const wanted = { createGraph, retain: createGraph };
      const all = gradients(made, doubled, seeds, vectors, wanted);
      return filled(name, made, all, outputs.tensors, 'the results of the function', flags);
    });
    return { outputs, found, single: outputs.single };
  };

/** The first derivatives, with their graph: the common part of both products with a Hessian. */
function firstDerivatives(name: string, func: Func, made: Made, given: Tuple, v: unknown, flags: Flags) {
  const inputs = prepared(made, given.tensors, flags.createGraph, true);
  const vector = vectorOf(name, v, given, 'the inputs');
  const vectors = vector && prepared(made, vector, flags.createGraph, false);
  const outputs = callScalarFunc(name, func, inputs);
  requireDepends(name, OUTPUT, outputs.tensors, flags.strict);
  const first = gradients(made, outputs.tensors, inputs, null, graph);
  requireDepends(name, JACOBIAN, first, flags.strict);
  return { inputs, vectors, outputs, first };
}

const vhpBody =
  (name: string) =>
  (func: Func): Body =>
  (made, given, v, flags) => {
    const before = native.gradEnabled();
    const { createGraph } = flags;
    const { inputs, vectors, outputs, first } = inGradMode(true, () =>
      firstDerivatives(name, func, made, given, v, flags),
    );
    const found = inGradMode(createGraph || before, () => {
      const all = gradients(made, first, inputs, vectors, { createGraph, retain: createGraph });
      return filled(name, made, all, inputs, 'inputs', flags);
    });
    return { outputs, found, single: given.single };
  };

const hvpBody =
  (name: string) =>
  (func: Func): Body =>
  (made, given, v, flags) => {
    const before = native.gradEnabled();
    const { createGraph } = flags;
    const { inputs, vectors, outputs, seeds, second } = inGradMode(true, () => {
      const begun = firstDerivatives(name, func, made, given, v, flags);
      const zeros = made.ownAll(begun.inputs.map((input) => ops().zerosLike!(input).requiresGrad_() as Tensor));
      return { ...begun, seeds: zeros, second: gradients(made, begun.first, begun.inputs, zeros, graph) };
    });
    const found = inGradMode(createGraph || before, () => {
      const all = gradients(made, second, seeds, vectors, { createGraph, retain: createGraph });
      return filled(name, made, all, inputs, 'inputs', flags);
    });
    return { outputs, found, single: given.single };
  };

/** Makes one of the four functions. */
const run = (name: string, body: (name: string) => (func: Func) => Body) => {
  const full = `autograd.functional.${name}`;
  return (...args: unknown[]) => product(full, args, body(full));
};

export const runVjp = run('vjp', vjpBody);
export const runJvp = run('jvp', jvpBody);
export const runVhp = run('vhp', vhpBody);
export const runHvp = run('hvp', hvpBody);
