/**
 * torch.utils.checkpoint: parts of a computation whose intermediate results are recomputed in the backward instead of kept.
 * PyTorch's semantics, except where docs/autograd.md says otherwise.
 */

import { native } from '../addon/native';
import { ownOptions, unknownOption } from '../addon/options';
import { currentModes } from '../autograd/autocast';
import { flagOf } from '../autograd/grad';
import { refuseRecording } from '../autograd/tuples';
import { warn } from '../call/warnings';
import { argumentError } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { scope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import { anchored, CHECKPOINT, CheckpointFunction, callOn, randomState, type Segment } from './recompute';

export interface CheckpointOptions {
  /**
   * True, as in PyTorch, supports only `backward()`, and requires an argument that requires gradients. False also supports
   * `autograd.grad`, `inputs`, and functions where only captured tensors require gradients. Default: true.
   */
  useReentrant?: boolean | undefined;
  /** Draw the same random numbers in the backward. Default: true. */
  preserveRngState?: boolean | undefined;
  /** 'default' compares dtypes and shapes of the results with those of the first call. */
  determinismCheck?: 'default' | 'none' | undefined;
}

const known = ['useReentrant', 'preserveRngState', 'determinismCheck'] as const;

interface Asked {
  readonly reentrant: boolean;
  readonly preserve: boolean;
  readonly checks: boolean;
}

function asked(name: string, options: CheckpointOptions): Asked {
  const given = ownOptions(name, options, known);
  const { determinismCheck: check = 'default' } = given;
  if (check !== 'default' && check !== 'none') {
    throw argumentError(name, 'determinismCheck', "'default' or 'none'", check);
  }
  return {
    reentrant: flagOf(name, 'useReentrant', given.useReentrant, true),
    preserve: flagOf(name, 'preserveRngState', given.preserveRngState, true),
    checks: check === 'default',
  };
}

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Options come last and are recognized by their names. A name similar to an option is refused as a typo. */
function takeOptions(args: unknown[]): CheckpointOptions {
  const last = args.at(-1);
  if (!isPlainObject(last)) return {};
  const names = Object.keys(last);
  if (names.some((name) => (known as readonly string[]).includes(name))) return args.pop() as CheckpointOptions;
  const typo = names.find((name) => didYouMean(name, known) !== '');
  if (typo !== undefined) throw unknownOption(CHECKPOINT, 'options', typo, known);
  return {};
}

function start(fn: (...args: unknown[]) => unknown, args: readonly unknown[], { reentrant, preserve, checks }: Asked) {
  const places = args.flatMap((arg, i) => (isTensor(arg) ? [i] : []));
  const tensors = args.filter(isTensor);
  const segment: Segment = {
    fn,
    args: args.map((arg) => (isTensor(arg) ? null : arg)),
    places,
    reentrant,
    random: preserve && native.gradEnabled() ? randomState() : null,
    autocast: currentModes(),
    checks,
    results: '',
  };
  if (!native.gradEnabled()) return scope(() => callOn(segment, tensors));
  if (!reentrant) return anchored((anchor) => CheckpointFunction.apply(segment, ...tensors, anchor));
  if (!tensors.some((tensor) => tensor.requiresGrad)) {
    const why =
      'no argument requires gradients, so nothing in the function gets gradients: pass { useReentrant: false }';
    warn(`${CHECKPOINT}: ${why}`);
  }
  return CheckpointFunction.apply(segment, ...tensors);
}

/** The call of a function or module; undefined for another value. */
function callOf(value: unknown): ((...args: any[]) => unknown) | undefined {
  if (typeof value === 'function') return value as () => unknown;
  const module = value as { forward(...args: unknown[]): unknown } | null | undefined;
  return typeof module?.forward === 'function' ? (...args) => module.forward(...args) : undefined;
}

/**
 * Calls `fn(…args)`, or the `forward` of a module, without keeping its intermediate results: the backward calls it again. Each call
 * runs in its own scope. Options come after the arguments. Python's `torch.utils.checkpoint.checkpoint`.
 */
export function checkpoint<A extends unknown[], R>(fn: ((...args: A) => R) | { forward(...args: A): R }, ...args: A): R;
export function checkpoint<A extends unknown[], R>(
  fn: ((...args: A) => R) | { forward(...args: A): R },
  ...args: [...A, CheckpointOptions]
): R;
export function checkpoint(fn: unknown, ...rest: unknown[]): unknown {
  refuseRecording(CHECKPOINT);
  const call = callOf(fn);
  if (call === undefined) throw argumentError(CHECKPOINT, 'fn', 'a function or a Module', fn);
  const options = asked(CHECKPOINT, takeOptions(rest));
  return start(call, rest, options);
}

type Layer = (input: Tensor) => Tensor;

const chain = (layers: readonly Layer[]) => (input: unknown) => {
  let at = input as Tensor;
  for (const layer of layers) at = layer(at);
  return at;
};

const SEQUENTIAL = 'utils.checkpoint.checkpointSequential';

function layersOf(functions: unknown): Layer[] {
  if (typeof (functions as Iterable<unknown> | null | undefined)?.[Symbol.iterator] !== 'function') {
    throw argumentError(SEQUENTIAL, 'functions', 'a Sequential, or a list of functions or Modules', functions);
  }
  const given = [...(functions as Iterable<unknown>)];
  const layers = given.map(callOf);
  const wrong = layers.indexOf(undefined);
  if (wrong >= 0) throw argumentError(SEQUENTIAL, `functions[${wrong}]`, 'a function or a Module', given[wrong]);
  if (layers.length === 0) throw argumentError(SEQUENTIAL, 'functions', 'one function or more', functions);
  return layers as Layer[];
}

/**
 * Calls functions or modules, such as those of a `Sequential`, in sequence, each on the result of the previous one, in `segments` parts; all parts except the last are
 * checkpoints. Python's `torch.utils.checkpoint.checkpoint_sequential`.
 */
export function checkpointSequential(
  functions: Iterable<((input: Tensor) => Tensor) | { forward(input: Tensor): Tensor }>,
  segments: number,
  input: Tensor,
  options: CheckpointOptions = {},
): Tensor {
  refuseRecording(SEQUENTIAL);
  const layers = layersOf(functions);
  const given = asked(SEQUENTIAL, options);
  if (!Number.isInteger(segments) || segments < 1 || segments > layers.length) {
    const expected = `an integer from 1 to ${layers.length}, the number of functions`;
    throw argumentError(SEQUENTIAL, 'segments', expected, segments);
  }
  if (!isTensor(input)) throw argumentError(SEQUENTIAL, 'input', 'a Tensor', input);
  const size = Math.floor(layers.length / segments);
  const last = size * (segments - 1);
  let at = input;
  for (let from = 0; from < last; from += size) {
    at = start(chain(layers.slice(from, from + size)), [at], given) as Tensor;
  }
  return chain(layers.slice(last))(at);
}
