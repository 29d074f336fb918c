/**
 * What stands for the result of an op that was recorded (lib/async/strand.ts) and has not run. A pending tensor is a tensor
 * whose handle is the result's code; its methods record. Both kinds can be awaited.
 */
import { codedError } from '../errors';
import { native } from '../native';
import { readArguments } from '../reading';
import { setPending, Tensor } from '../tensor';
import { restoring } from '../turn';

const { flags } = native;

/** `Flags::recording` of native/handles/slot_table.h. */
export const OFF = 0;
export const TENSOR_OPS = 1;
export const ALL_OPS = 2;
export const RECORDED_VALUE = 3;

/** What a pending result asks of the strand that it belongs to. */
export interface Recorder {
  record(fn: () => unknown): unknown;
  /** Native code records into it again, after others did. */
  enter(): void;
  valueOf(pending: PendingTensor | PendingValue): Promise<unknown>;
}

/** The recorder in whose `record` the code is. */
let now: Recorder | null = null;

/** Runs `fn` so that its ops are recorded. Returns what it returns, with pending results for real ones. */
export function recordInto(recorder: Recorder, fn: () => unknown): unknown {
  const [mode, before] = [flags[5]!, now];
  const undo = () => {
    flags[5] = mode;
    now = before;
  };
  return restoring(undo, () => {
    // What the library's own functions call goes on with tensors; only the outermost call may give anything else.
    flags[5] = mode === OFF ? ALL_OPS : TENSOR_OPS;
    now = recorder;
    const result = fn();
    if (flags[5] !== RECORDED_VALUE || result instanceof PendingValue) return result;
    return new PendingValue(native.result[0]!, -1, []);
  });
}

/** Runs a function of the library that is made of ops, not an op itself: it can go on with tensors only. */
export function withTensorsOnly<T>(fn: () => T): T {
  const mode = flags[5]!;
  if (mode === OFF) return fn();
  const undo = () => {
    flags[5] = mode;
  };
  return restoring(undo, () => {
    flags[5] = TENSOR_OPS;
    return fn();
  });
}

/** Runs code of the program that a function of the library calls: its ops run at once, or are recorded where it says. */
export function withoutRecording<T>(fn: () => T): T {
  const mode = flags[5]!;
  if (mode === OFF) return fn();
  const before = now;
  flags[5] = OFF;
  now = null;
  try {
    return fn();
  } finally {
    flags[5] = mode;
    now = before;
    before?.enter();
  }
}

/** The result of a recorded op that is no tensor, or a list of tensors. */
export class PendingValue {
  readonly recorder = now!;

  constructor(
    /** -(2^32 + strand * 2^20 + step * 16). */
    readonly code: number,
    /** The row whose results they are, -1 where the native value is the result. */
    readonly row: number,
    readonly given: readonly unknown[],
    /** Makes the result of the native value, where the row does not say how. */
    readonly read: (raw: unknown) => unknown = (raw) => raw,
  ) {}

  // biome-ignore lint/suspicious/noThenProperty: it stands for a value that comes later
  then(resolve?: (value: unknown) => unknown, reject?: (error: unknown) => unknown): Promise<unknown> {
    return this.recorder.valueOf(this).then(resolve, reject);
  }
}

/** A tensor that an op will give. */
export interface PendingTensor extends Tensor {
  readonly recorder: Recorder;
}

const prototype: Record<PropertyKey, unknown> = Object.create(Tensor.prototype);

export const isPendingTensor = (value: unknown): value is PendingTensor => value instanceof Tensor && value._handle < 0;

function pendingOf(code: number, recorder: unknown): Tensor {
  const tensor = Object.create(prototype);
  tensor._mark = native.tensorMark;
  tensor._handle = code;
  tensor._guard = undefined;
  tensor.recorder = recorder;
  return tensor as Tensor;
}

/** What a program shows as one may be anything. */
const recorders = new WeakSet<object>();
export const noteRecorder = (recorder: Recorder): unknown => recorders.add(recorder);

setPending(
  (code) => pendingOf(code, now),
  (code, recorder) => (recorders.has(recorder as object) ? pendingOf(code, recorder) : null),
);

/** Values that only a tensor that is there has. */
function notThere(name: string): never {
  throw codedError(Error, 'ERR_TORCH_PENDING', `Tensor.${name}: the result is not there yet: await it first`);
}

/** Once the methods of tensors are all there: those of pending ones record. */
export function definePendingMethods(): void {
  const own = (name: PropertyKey, descriptor: PropertyDescriptor) =>
    Object.defineProperty(prototype, name, { configurable: true, ...descriptor });
  for (let from: object = Tensor.prototype; from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (name === 'constructor' || Object.hasOwn(prototype, name)) continue;
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
            return this.recorder.record(() => Reflect.apply(value, this, given));
          },
        });
      }
    }
  }
  own('requiresGrad', {
    get: () => notThere('requiresGrad'),
    set(this: PendingTensor, value: boolean) {
      this.requiresGrad_(value);
    },
  });
  // It is freed when nothing recorded needs it any more.
  own('dispose', { value() {} });
  own(Symbol.dispose, { value() {} });
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
