/**
 * Placeholders for the results of ops that were recorded (lib/async/strand.ts) and have not run. A pending tensor is a tensor
 * whose handle is the result's code; its methods (pending-methods.ts) record. Both kinds can be awaited.
 */
import { native } from '../addon/native';
import { codedError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { Flag, RecordingMode } from '../generated/codes';
import { setPending, Tensor } from './tensor';

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

/** Refuses a pending tensor as an argument of a function that needs its memory at once. `instead`: what to do. */
export function requireComputed(fn: string, argument: string, value: unknown, instead: string): void {
  if (!isPendingTensor(value)) return;
  bodyNow()?.refuse?.(`it calls ${fn}`);
  const message = `${fn}: argument '${argument}': expected a Tensor that is not pending, got one: ${instead}`;
  throw Object.assign(codedError(Error, 'ERR_TORCH_PENDING', message), { op: fn, argument });
}

/** For what torch.run can do at once, but a replay of torch.capture would leave out. */
export const refuseReplay = (why: string): void => body?.refuse?.(why);

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

/** The `row` of a value that is read from a tensor when the op has run. */
export const READ = -2;

/** The tensor result of a recorded op. */
export interface PendingTensor extends Tensor {
  readonly recorder: Recorder;
}

/** Has the methods of pending tensors (lib/tensor/pending-methods.ts) once an op was recorded. */
export const pendingPrototype: Record<PropertyKey, unknown> = Object.create(Tensor.prototype);
// Defined here, so that writing them does not reach the proxy at the end of the prototype chain (lib/call/misses.ts).
Object.assign(pendingPrototype, { _mark: undefined, _handle: undefined, _guard: undefined, recorder: undefined });

/** Null once they are defined: a thousand, so only in a process that records. */
let defineMethods: (() => void) | null = null;
/** Called once, by the module that defines them. */
export const setMethods = (define: () => void): void => {
  defineMethods = define;
};

export const isPendingTensor = (value: unknown): value is PendingTensor => value instanceof Tensor && value._handle < 0;

/**
 * A constructor, because V8 changes the hidden class of what Object.create makes with each property that is added. Heap snapshots
 * call an object by the name of its constructor.
 */
const PendingObject = function Tensor(this: Record<string, unknown>, code: number, recorder: unknown) {
  this._mark = native.tensorMark;
  this._handle = code;
  this._guard = undefined;
  this.recorder = recorder;
} as unknown as new (
  code: number,
  recorder: unknown,
) => Tensor;
PendingObject.prototype = pendingPrototype;

function pendingOf(code: number, recorder: unknown): Tensor {
  defineMethods?.();
  defineMethods = null; // last: if this is cut off (a `vm` timeout), the next one defines them again
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
