/** The methods of pending tensors, which record. */
import { types } from 'node:util';
import type { Device } from '../../types/base';
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { argumentError, codedError } from '../errors/errors';
import { Flag, RecordingMode } from '../generated/codes';
import { type Known, knownMethods, knownProperties } from './known';
import { bodyNow, type PendingTensor, PendingValue, pendingPrototype, READ, setMethods } from './pending';
import { readArguments } from './reading';
import { assignedInPython, Tensor } from './tensor';

const { flags } = native;

/** Throws for a property that is unknown until the op has run. `refusal`: what an op says of the shapes of its arguments. */
function notThere(name: string, refusal: string | null = null): never {
  bodyNow()?.refuse?.(`it reads ${name}, which is unknown before the ops have run`);
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

/** Defines the recording methods of pending tensors. Can be called again after it was cut off. */
function definePendingMethods(): void {
  // V8 keeps the properties of such an object in a dictionary, to which it adds them in a tenth of the time.
  Reflect.deleteProperty(pendingPrototype, '_mark');
  Object.defineProperty(pendingPrototype, '_mark', {
    value: undefined,
    writable: true,
    enumerable: true,
    configurable: true,
  });
  defineReads();
  defineRecorded();
  defineOthers();
}

const own = (name: PropertyKey, { value, get, set }: PropertyDescriptor) =>
  Object.defineProperty(
    pendingPrototype,
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
      if (name === 'constructor' || Object.hasOwn(pendingPrototype, name)) continue;
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

setMethods(definePendingMethods);
