/**
 * Placeholders for the results of ops that were recorded (lib/async/strand.ts) and have not run. A pending tensor is a tensor
 * whose handle is the result's code; its methods record. Both kinds can be awaited.
 */
import { types } from 'node:util';
import type { Device } from '../../types/base';
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { argumentError, codedError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { Flag, RecordingMode } from '../generated/codes';
import { type Known, knownMethods, knownProperties } from './known';
import { readArguments } from './reading';
import { assignedInPython, setPending, Tensor } from './tensor';

const { flags } = native;

/** The interface of a strand to its pending results. */
export interface Recorder {
  readonly id: number;
  record(fn: () => unknown, op?: string): unknown;
  /** Makes native code record into it again after it recorded into others. */
  enter(): void;
  valueOf(pending: PendingTensor | PendingValue): Promise<unknown>;
  /** Called when a pending value was created. */
  onValue(value: PendingValue): void;
  /** Called by `dispose()`; torch.run, which frees its results itself, does not have it. */
  onDispose?(pending: PendingTensor): void;
  /** Called for a module whose `forward` is called; only torch.capture has it. */
  onModule?(module: { readonly training: boolean }): void;
  /** Throws, for what torch.capture cannot replay; torch.run does not have it. */
  refuse?(why: string): never;
}

/** The recorder whose `record`, or whose torch.run function, is executing. */
let now: Recorder | null = null;
/** The recorder whose torch.run function is in progress, whatever it calls. */
let body: Recorder | null = null;

/** Runs `fn` so that its ops are recorded. Returns what it returns, with pending results for real ones. */
export function recordInto(recorder: Recorder, fn: () => unknown, op?: string): unknown {
  const [mode, before] = [flags[Flag.Recording]!, now];
  const undo = () => {
    flags[Flag.Recording] = mode;
    now = before;
  };
  return restoring(undo, () => {
    // Functions inside the library can continue only with tensors; only the outermost call may return a pending value.
    flags[Flag.Recording] =
      mode === RecordingMode.Off || mode === RecordingMode.Body ? RecordingMode.AllOps : RecordingMode.TensorOps;
    now = recorder;
    const result = fn();
    if (flags[Flag.Recording] !== RecordingMode.RecordedValue && !isPendingValue(result)) return result;
    const value = isPendingValue(result) ? result : new PendingValue(native.result[0]!, -1, []);
    value.op ??= op;
    recorder.onValue(value);
    return value;
  });
}

/**
 * Runs the function of torch.run, or a part of it: what it calls is recorded as if it were called on the module that
 * torch.run passes, except that it can continue only with tensors.
 */
export function recordBody<T>(recorder: Recorder, fn: () => T): T {
  const [mode, before, outer] = [flags[Flag.Recording]!, now, body];
  const undo = () => {
    flags[Flag.Recording] = mode;
    now = before;
    body = outer;
    if (mode !== RecordingMode.Off) before?.enter();
  };
  return restoring(undo, () => {
    flags[Flag.Recording] = RecordingMode.Body;
    now = recorder;
    body = recorder;
    recorder.enter();
    return fn();
  });
}

/** The recorder whose function's own code is executing, if any; null inside library functions. */
export const bodyNow = (): Recorder | null => (flags[Flag.Recording] === RecordingMode.Body ? now : null);

/** For lib/async/continuations.ts, which switches between recordings when continuations begin and end. */
export interface Recording {
  readonly mode: number;
  readonly recorder: Recorder | null;
  readonly body: Recorder | null;
}
export const NOTHING: Recording = { mode: RecordingMode.Off, recorder: null, body: null };
export const bodyOf = (recorder: Recorder): Recording => ({ mode: RecordingMode.Body, recorder, body: recorder });
export const recordingNow = (): Recording => ({ mode: flags[Flag.Recording]!, recorder: now, body });
export function switchTo({ mode, recorder, body: inProgress }: Recording): void {
  flags[Flag.Recording] = mode;
  now = recorder;
  body = inProgress;
  if (mode !== RecordingMode.Off) recorder?.enter();
}

/** Runs a library function that is composed of ops: it can continue only with tensors. */
export function withTensorsOnly<T>(fn: () => T): T {
  const mode = flags[Flag.Recording]!;
  if (mode === RecordingMode.Off) return fn();
  const undo = () => {
    flags[Flag.Recording] = mode;
  };
  return restoring(undo, () => {
    flags[Flag.Recording] = RecordingMode.TensorOps;
    return fn();
  });
}

/** Runs a callback of a library function: its ops run immediately, unless the callback records them itself. */
export function withoutRecording<T>(fn: () => T): T {
  const mode = flags[Flag.Recording]!;
  if (mode === RecordingMode.Off) return fn();
  const before = now;
  flags[Flag.Recording] = RecordingMode.Off;
  now = null;
  try {
    return fn();
  } finally {
    flags[Flag.Recording] = mode;
    now = before;
    before?.enter();
  }
}

/** Throws for an attempt to use a pending value without `await`. */
function notAwaited(value: PendingValue, use: string): never {
  const op = value.op ?? 'the op';
  value.awaited = true; // the program gets this error
  value.recorder.refuse?.(`it uses the value of ${op}()`);
  throw codedError(
    Error,
    'ERR_TORCH_PENDING',
    `${op}: expected \`await\` before ${use}: in torch.run the value is a promise until the ops before it have run`,
  );
}

/** Reads values of a tensor that is not pending. Throws if a recorded op will write to it. */
export function readNow<T>({ _handle }: Tensor, fn: () => T): T {
  if (flags[Flag.Recording] === RecordingMode.Off) return fn();
  native.strandRequireRead(_handle);
  return withoutRecording(fn);
}

/** For functions that call a callback for each element. */
export function requireNoRecording(name: string): void {
  if (flags[Flag.Recording] === RecordingMode.Off) return;
  body?.refuse?.(`it calls ${name}`);
  const message = `${name}: expected a call outside torch.run, where the elements that it passes to its function are pending`;
  throw codedError(Error, 'ERR_TORCH_PENDING', message);
}

/** Refuses a call of the program's code whose ops are not recorded. */
export function requireRepeatable(): void {
  body?.refuse?.('it calls a function of the program whose ops are not recorded, such as a hook');
}

/** Runs a callback of the program; inside torch.run its ops are recorded like those of torch.run's function. */
export function asBody<T>(fn: () => T): T {
  return body === null ? withoutRecording(fn) : recordBody(body, fn);
}

/** The result of a recorded op that is not a tensor. It can only be awaited. */
export class PendingValue {
  readonly recorder = now!;
  /** For messages. */
  op: string | undefined;
  /** It was awaited, or is part of the result of torch.run. */
  awaited = false;
  /** `instanceof` walks to the Proxy at the end of a tensor's prototype chain, which takes 0.1 µs. */
  readonly #isValue = true;
  /** @internal */
  static _isValue(value: unknown): value is PendingValue {
    return typeof value === 'object' && value !== null && #isValue in value;
  }

  constructor(
    /** -(2^32 + strand * 2^20 + step * 16). */
    readonly code: number,
    /** The table row of the op; -1 if the native value is the result. */
    readonly row: number,
    readonly given: readonly unknown[],
    /** Converts the native value to the result, if there is no row. */
    readonly read: (raw: unknown) => unknown = (raw) => raw,
  ) {}

  // biome-ignore lint/suspicious/noThenProperty: it is a placeholder for a later value
  then(resolve?: (value: unknown) => unknown, reject?: (error: unknown) => unknown): Promise<unknown> {
    this.awaited = true;
    return this.recorder.valueOf(this).then(resolve, reject);
  }
  catch(reject?: (error: unknown) => unknown): Promise<unknown> {
    return this.then(undefined, reject);
  }
  finally(end?: () => void): Promise<unknown> {
    return this.then().finally(end);
  }
  [Symbol.toPrimitive](): never {
    return notAwaited(this, 'it is used in an operator or as a property name');
  }
  [Symbol.iterator](): never {
    return notAwaited(this, 'it is destructured or iterated');
  }
  toJSON(): never {
    return notAwaited(this, 'it is converted to JSON');
  }
  get [Symbol.toStringTag](): string {
    return 'Promise';
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return 'Promise { <pending> }';
  }
}

export const isPendingValue: (value: unknown) => value is PendingValue = PendingValue._isValue;

/** The tensor result of a recorded op. */
export interface PendingTensor extends Tensor {
  readonly recorder: Recorder;
}

const prototype: Record<PropertyKey, unknown> = Object.create(Tensor.prototype);
// Defined here, so that writing them does not reach the proxy at the end of the prototype chain (lib/call/misses.ts).
Object.assign(prototype, { _mark: undefined, _handle: undefined, _guard: undefined, recorder: undefined });

export const isPendingTensor = (value: unknown): value is PendingTensor => value instanceof Tensor && value._handle < 0;

/** A constructor, because V8 changes the hidden class of what Object.create makes with each property that is added. */
const PendingObject = function (this: Record<string, unknown>, code: number, recorder: unknown) {
  this._mark = native.tensorMark;
  this._handle = code;
  this._guard = undefined;
  this.recorder = recorder;
} as unknown as new (
  code: number,
  recorder: unknown,
) => Tensor;
PendingObject.prototype = prototype;

function pendingOf(code: number, recorder: unknown): Tensor {
  if (!areMethodsDefined) definePendingMethods();
  return new PendingObject(code, recorder);
}

/** The pending tensor of an input of torch.capture. */
export const pendingInput = (recorder: Recorder, index: number): Tensor =>
  pendingOf(-(2 ** 32 + recorder.id * 2 ** 20 + index), recorder);

/** Genuine recorders: a program could pass any object as one. */
const recorders = new WeakSet<object>();
export const noteRecorder = (recorder: Recorder): unknown => recorders.add(recorder);

setPending(
  (code) => {
    if (now === null) {
      throw codedError(
        Error,
        'ERR_TORCH_PENDING',
        'the op was recorded by the torch.run of another copy of the library',
      );
    }
    return pendingOf(code, now);
  },
  (code, recorder) => (recorders.has(recorder as object) ? pendingOf(code, recorder) : null),
);

/** Throws for a property that is unknown until the op has run. `refusal`: what an op says of the shapes of its arguments. */
function notThere(name: string, refusal: string | null = null): never {
  body?.refuse?.(`it reads ${name}, which is unknown before the ops have run`);
  throw codedError(
    Error,
    'ERR_TORCH_PENDING',
    `Tensor.${name}: the result is pending, and this property is not known before the op has run: ` +
      (refusal === null ? 'await the result first' : `for shapes like these it fails (${refusal})`),
  );
}

function knownOf(pending: PendingTensor, name: string): Known {
  const found = native.strandMeta(pending.recorder.id, pending._handle);
  if (found === null || typeof found === 'string') return notThere(name, found);
  const [dtype, device, ...shape] = found;
  return {
    get dtype() {
      return dtype === null ? notThere(name) : dtypeName(dtype as number); // unknown for ops in autocast
    },
    device: device as Device,
    shape: shape as number[],
  };
}

/** `t.size()`, `t.size(dim)`. */
function sizeOf(this: PendingTensor, dim?: number | { dim?: number }): unknown {
  const { shape } = knownOf(this, 'size');
  const wanted = typeof dim === 'object' && dim !== null ? dim.dim : dim;
  if (wanted === undefined) return shape;
  const found = shape.at(wanted);
  if (!Number.isInteger(wanted) || found === undefined || wanted >= shape.length) {
    const range = `an integer from ${-shape.length} to ${shape.length - 1}`;
    throw argumentError('size', 'dim', range, wanted);
  }
  return found;
}

/** The `row` of a value that is read from a tensor when the op has run. */
export const READ = -2;

/** A method that reads the elements, which are available once the op has run. */
function readLater(name: string) {
  const read = (tensor: unknown) => (tensor as Record<string, () => unknown>)[name]!();
  return function (this: PendingTensor): unknown {
    if (flags[Flag.Recording] === RecordingMode.TensorOps) return notThere(name); // a library function, which cannot continue with a promise
    // A copy, because later ops may write to the tensor.
    return this.recorder.record(() => new PendingValue(this.detach().clone()._handle, READ, [], read), name);
  };
}

/** The names of the library's own methods and properties, by the prototype that has them. */
let namesOf: (readonly [prototype: object, names: readonly string[]])[] = [];

/** A method that refuses assignments is an accessor (lib/call/operators.ts). */
function propertyOf(from: object, name: string | symbol): PropertyDescriptor {
  const property = Object.getOwnPropertyDescriptor(from, name) ?? {};
  const isMethod = property.get !== undefined && assignedInPython.some((method) => method === name);
  return isMethod ? { value: Reflect.get(from, name) } : property;
}

/** Call after all tensor methods are defined, and before the program can define its own, which are not recorded as one call. */
export function nameTensorMethods(): void {
  namesOf = [];
  for (let from: object = Tensor.prototype; !types.isProxy(from); from = Object.getPrototypeOf(from)) {
    namesOf.push([from, Object.getOwnPropertyNames(from)]);
  }
}

let areMethodsDefined = false;

/**
 * Defines the recording methods of pending tensors: a thousand, so only in a process that records. Can be called again after it
 * was cut off (a `vm` timeout).
 */
function definePendingMethods(): void {
  // V8 keeps the properties of such an object in a dictionary, to which it adds them in a tenth of the time.
  Reflect.deleteProperty(prototype, '_mark');
  Object.defineProperty(prototype, '_mark', { value: undefined, writable: true, enumerable: true, configurable: true });
  defineReads();
  defineRecorded();
  defineOthers();
  areMethodsDefined = true; // last
}

const own = (name: PropertyKey, { value, get, set }: PropertyDescriptor) =>
  Object.defineProperty(
    prototype,
    name,
    value === undefined ? { configurable: true, get, set } : { configurable: true, value },
  );

/** Properties that are known before the op has run, and methods that read the elements later. */
function defineReads(): void {
  const known = (name: string, take: (known: Known) => unknown) =>
    function (this: PendingTensor): unknown {
      return take(knownOf(this, name));
    };
  for (const [name, take] of Object.entries(knownProperties)) own(name, { get: known(name, take) });
  for (const [name, take] of Object.entries(knownMethods)) own(name, { value: known(name, take) });
  own('size', { value: sizeOf });
  for (const name of ['toArray', 'toTypedArray', 'tolist', 'toJSON']) own(name, { value: readLater(name) });
  own(Symbol.iterator, {
    value(this: PendingTensor) {
      const { shape } = knownOf(this, '[Symbol.iterator]');
      if (shape.length === 0) throw argumentError('[Symbol.iterator]', 'this', 'a Tensor with dimensions', this);
      return (this.unbind(0) as readonly Tensor[])[Symbol.iterator]();
    },
  });
}

function defineRecorded(): void {
  for (const [from, names] of namesOf) {
    for (const name of names) {
      if (name === 'constructor' || Object.hasOwn(prototype, name)) continue;
      const { value, get } = propertyOf(from, name);
      if (get !== undefined) {
        own(name, {
          get(this: PendingTensor) {
            // T and mT are ops; shape is not.
            return this.recorder.record(() => Reflect.apply(get, this, []));
          },
        });
      } else if (typeof value === 'function') {
        own(name, {
          value(this: PendingTensor, ...args: unknown[]) {
            const given = readArguments(args);
            return this.recorder.record(() => Reflect.apply(value, this, given), String(name));
          },
        });
      }
    }
  }
}

function defineOthers(): void {
  own('requiresGrad', {
    get: () => notThere('requiresGrad'),
    set(this: PendingTensor, value: boolean) {
      this.requiresGrad_(value);
    },
  });
  // These depend on the graph, and on recorded writes.
  for (const name of ['isLeaf', 'outputNr', 'retainsGrad', '_version']) own(name, { get: () => notThere(name) });
  // The result is freed when no recorded op needs it any more.
  const dispose = {
    value(this: PendingTensor) {
      this.recorder.onDispose?.(this);
    },
  };
  own('dispose', dispose);
  own(Symbol.dispose, dispose);
  own('disposed', { get: () => false });
  own('_describe', { value: () => 'a pending Tensor' });
  own('toString', { value: () => 'Tensor { pending }' });
  own(Symbol.for('nodejs.util.inspect.custom'), { value: () => 'Tensor { pending }' });
  own('then', {
    value(this: PendingTensor, resolve: (value: unknown) => unknown, reject: (error: unknown) => unknown) {
      return this.recorder.valueOf(this).then(resolve, reject);
    },
  });
}
