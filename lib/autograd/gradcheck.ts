/**
 * torch.autograd.gradcheck and gradgradcheck: gradients of a function beside finite differences, for backwards that a
 * program wrote. The slow mode of PyTorch's torch/autograd/gradcheck.py, for real strided tensors.
 */
import { isOptions, ownOptions } from '../addon/options';
import { warn } from '../call/warnings';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { Arguments, TensorOrTensors } from './functional';
import { flagOf, gradientsOf } from './grad';
import { tensorsOf } from './lists';
import { inGradMode } from './mode';
import { callFunc, type Func, failure, inputsOf, ops, refuseRecording, requireFunc } from './tuples';

export interface GradcheckOptions {
  /** The step of the finite differences. Default: 1e-6. */
  eps?: number | undefined;
  /** Absolute tolerance. Default: 1e-5. */
  atol?: number | undefined;
  /** Relative tolerance. Default: 1e-3. */
  rtol?: number | undefined;
  /** Throw where gradients differ, instead of returning false. Default: true. */
  raiseException?: boolean | undefined;
  /** How much two runs of the same backward may differ. Default: 0. */
  nondetTol?: number | undefined;
}

interface Settings {
  readonly eps: number;
  readonly atol: number;
  readonly rtol: number;
  readonly raise: boolean;
  readonly nondetTol: number;
}

const names = ['eps', 'atol', 'rtol', 'raiseException', 'nondetTol'] as const;

function settingsOf(name: string, options: GradcheckOptions): Settings {
  const given = ownOptions(name, options, names);
  const number = (key: 'eps' | 'atol' | 'rtol' | 'nondetTol', otherwise: number): number => {
    const value: unknown = given[key] ?? otherwise;
    const isRight = typeof value === 'number' && Number.isFinite(value) && (key === 'eps' ? value > 0 : value >= 0);
    if (isRight) return value;
    throw argumentError(name, key, key === 'eps' ? 'a number above 0' : 'a number of 0 or more', value);
  };
  return {
    eps: number('eps', 1e-6),
    atol: number('atol', 1e-5),
    rtol: number('rtol', 1e-3),
    raise: flagOf(name, 'raiseException', given.raiseException, true),
    nondetTol: number('nondetTol', 0),
  };
}

/** The numbers of the inputs that require gradients. */
function checkedOf(name: string, inputs: readonly Tensor[]): number[] {
  const checked = inputs.flatMap((tensor, i) => (tensor.requiresGrad ? [i] : []));
  if (checked.length === 0) throw argumentError(name, 'inputs', 'a Tensor that requires gradients', inputs[0]);
  for (const i of checked) {
    const tensor = inputs[i]!;
    const isReal = tensor.layout === 'strided' && tensor.isFloatingPoint();
    if (!isReal) throw argumentError(name, `inputs[${i}]`, 'a strided Tensor of real numbers', tensor);
    const overlaps = tensor.stride().some((step, d) => step === 0 && tensor.shape[d]! > 1);
    if (overlaps) throw argumentError(name, `inputs[${i}]`, 'a Tensor whose elements have memory of their own', tensor);
    if (tensor.dtype !== 'float64') {
      warn(`${name}: inputs[${i}] is ${tensor.dtype}: finite differences need float64, and will most likely differ`);
    }
  }
  return checked;
}

/** One element, as a tensor without dimensions on the same memory. */
function elementOf(tensor: Tensor, index: number): Tensor {
  let view = tensor;
  let rest = index;
  for (let d = tensor.ndim - 1; d >= 0; d--) {
    const size = tensor.shape[d]!;
    view = view.select(d, rest % size) as Tensor;
    rest = Math.floor(rest / size);
  }
  return view;
}

const numbersOf = (tensor: Tensor): number[] =>
  Array.from((tensor.detach().to('float64').reshape([-1]) as Tensor).toTypedArray() as Float64Array);

/** Without the digits that finite differences do not have. */
const written = (value: number): number => Number(value.toPrecision(8));

/** Of the outputs, those with a gradient; if none has one, all of real numbers, whose differences must be 0 then. */
function chosen(outputs: readonly Tensor[]): number[] {
  const indices = (is: (tensor: Tensor) => boolean) => outputs.flatMap((tensor, i) => (is(tensor) ? [i] : []));
  const differentiable = indices((tensor) => tensor.requiresGrad);
  return differentiable.length > 0 ? differentiable : indices((tensor) => tensor.isFloatingPoint());
}

/** Derivatives of each element of an output with respect to each element of an input: [output][input][row][column]. */
type Derivatives = number[][][][];

function numerical(
  call: () => Tensor[],
  inputs: readonly Tensor[],
  outputs: readonly number[],
  eps: number,
): Derivatives {
  const evaluate = () =>
    ownScope(() => {
      const results = call();
      return outputs.map((i) => numbersOf(results[i]!));
    });
  const columns = inputs.map((input) =>
    Array.from({ length: input.numel }, (_, e) =>
      ownScope(() => {
        const element = elementOf(input.data() as Tensor, e);
        const before = element.item() as number;
        const moved = (to: number) => {
          element.fill_(to);
          return evaluate();
        };
        try {
          const [low, high] = [moved(before - eps), moved(before + eps)];
          return high.map((values, o) => values.map((value, row) => (value - low[o]![row]!) / (2 * eps)));
        } finally {
          element.fill_(before);
        }
      }),
    ),
  );
  return outputs.map((_, o) =>
    columns.map((ofInput) => (ofInput[0]?.[o] ?? []).map((_value, row) => ofInput.map((column) => column[o]![row]!))),
  );
}

function analytical(results: readonly Tensor[], inputs: readonly Tensor[]): Derivatives {
  return results.map((output) => {
    const byInput: number[][][] = inputs.map(() => []);
    for (let row = 0; row < output.numel; row++) {
      ownScope(() => {
        const from = (output.reshape([-1]) as Tensor).select(0, row) as Tensor;
        const run = { outputs: [from], inputs, createGraph: false, allowUnused: true };
        const found = output.requiresGrad ? gradientsOf(run, [null], true) : inputs.map(() => null);
        found.forEach((gradient, k) => {
          byInput[k]!.push(gradient === null ? new Array(inputs[k]!.numel).fill(0) : numbersOf(gradient));
        });
      });
    }
    return byInput;
  });
}

/** " at [1, 2]" for an element; nothing for that of a tensor without dimensions. */
function placeText({ shape }: Tensor, index: number): string {
  let rest = index;
  const place = shape.map(() => 0);
  for (let d = shape.length - 1; d >= 0; d--) {
    place[d] = rest % shape[d]!;
    rest = Math.floor(rest / shape[d]!);
  }
  return shape.length === 0 ? '' : ` at [${place.join(', ')}]`;
}

/** Outputs or inputs, and their numbers in the program. */
interface Numbered {
  readonly tensors: readonly Tensor[];
  readonly numbers: readonly number[];
}

/** The first two derivatives that differ, in words; null if all fit. */
function difference(
  [one, other]: readonly [Derivatives, Derivatives],
  fits: (one: number, other: number) => boolean,
  text: (one: number, other: number) => string,
  { outputs, inputs }: { readonly outputs: Numbered; readonly inputs: Numbered },
): string | null {
  for (const [o, ofOutput] of other.entries()) {
    for (const [k, rows] of ofOutput.entries()) {
      for (const [row, values] of rows.entries()) {
        const column = values.findIndex((value, c) => !fits(one[o]![k]![row]![c]!, value));
        if (column < 0) continue;
        const of = `output ${outputs.numbers[o]}${placeText(outputs.tensors[o]!, row)}`;
        const to = `inputs[${inputs.numbers[k]}]${placeText(inputs.tensors[k]!, column)}`;
        return `derivative of ${of} with respect to ${to}: ${text(one[o]![k]![row]![column]!, values[column]!)}`;
      }
    }
  }
  return null;
}

function check(name: string, func: Func, given: readonly Tensor[], settings: Settings): string | null {
  const indices = checkedOf(name, given);
  const inputs = indices.map((i) => given[i]!);
  const call = () => callFunc(name, func, given).tensors;
  return inGradMode(true, () =>
    ownScope(() => {
      const outputs = call();
      const numbers = chosen(outputs);
      const results = numbers.map((i) => outputs[i]!);
      const places = { outputs: { tensors: results, numbers }, inputs: { tensors: inputs, numbers: indices } };
      const found = analytical(results, inputs);
      const again = analytical(results, inputs);
      const { eps, atol, rtol, nondetTol } = settings;
      return (
        difference(
          [numerical(call, inputs, numbers, eps), found],
          (expected, got) => Math.abs(got - expected) <= atol + rtol * Math.abs(expected),
          (expected, got) => `expected ${written(expected)} (finite differences), got ${written(got)}`,
          places,
        ) ??
        difference(
          [found, again],
          (first, second) => Math.abs(second - first) <= nondetTol,
          (first, second) => `expected the same from a second backward, got ${first} and ${second}`,
          places,
        )
      );
    }),
  );
}

function outcome(name: string, text: string | null, { raise }: Settings): boolean {
  if (text === null) return true;
  if (raise) throw failure(name, text);
  return false;
}

/**
 * Whether the gradients of `func` at `inputs` agree with finite differences: true, or an error that names the first place
 * where they differ. For inputs of float64 that require gradients; the others are constants.
 */
export function gradcheck<const I extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => TensorOrTensors,
  inputs: I,
  options: GradcheckOptions = {},
): boolean {
  const name = 'autograd.gradcheck';
  refuseRecording(name);
  requireFunc(name, func);
  const { tensors } = inputsOf(name, inputs);
  const settings = settingsOf(name, options);
  return outcome(name, check(name, func, tensors, settings), settings);
}

/** Random gradients for the outputs that have one. */
function randomGradients(name: string, func: Func, inputs: readonly Tensor[]): Tensor[] {
  const outputs = callFunc(name, func, inputs).tensors.filter((output) => output.requiresGrad);
  if (outputs.length === 0) throw failure(name, 'expected a result that requires gradients, got none');
  return outputs.map((output) => ops().randnLike!(output).requiresGrad_(true) as Tensor);
}

/**
 * Whether the second derivatives of `func` at `inputs` agree with finite differences of its gradients. `gradOutputs`: the
 * gradients of its results, random if not given.
 */
export function gradgradcheck<const I extends TensorOrTensors>(
  func: (...inputs: Arguments<I>) => TensorOrTensors,
  inputs: I,
  gradOutputs?: TensorOrTensors | null | GradcheckOptions,
  options?: GradcheckOptions,
): boolean {
  const name = 'autograd.gradgradcheck';
  refuseRecording(name);
  requireFunc(name, func);
  const { tensors } = inputsOf(name, inputs);
  const inThird =
    options === undefined && isOptions(gradOutputs) && !isTensor(gradOutputs) && !(Symbol.iterator in gradOutputs);
  const settings = settingsOf(name, inThird ? (gradOutputs as GradcheckOptions) : (options ?? {}));
  const wanted = inThird ? null : (gradOutputs as TensorOrTensors | null | undefined);
  const checked = checkedOf(name, tensors);
  const text = inGradMode(true, () =>
    ownScope(() => {
      const vectors =
        wanted === null || wanted === undefined
          ? randomGradients(name, func, tensors)
          : tensorsOf(name, 'gradOutputs', wanted);
      const gradients = (...all: Tensor[]): Tensor[] => {
        const given = all.slice(0, tensors.length);
        const outputs = callFunc(name, func, given).tensors.filter((output) => output.requiresGrad);
        const run = { outputs, inputs: checked.map((i) => given[i]!), createGraph: true, allowUnused: true };
        return gradientsOf(run, all.slice(tensors.length), true).filter((gradient) => gradient !== null);
      };
      return check(name, gradients, [...tensors, ...vectors], settings);
    }),
  );
  return outcome(name, text, settings);
}
