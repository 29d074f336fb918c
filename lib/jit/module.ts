/** Members of ScriptModule that codegen/spec/classes/ScriptModule.yaml does not declare. */
import type { DeviceLike, Signal } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { native } from '../addon/native';
import { type RunOptions, start } from '../async/run';
import type { Strand } from '../async/strand';
import { classes } from '../call/classes';
import { NativeObject } from '../call/object';
import { argumentError } from '../errors/errors';
import type { FilePath } from '../files/paths';
import { Flag, RecordingMode } from '../generated/codes';
import { ownScope } from '../lifetimes/scope';
import type { Module } from '../nn/module';
import type { IncompatibleKeys, LoadStateDictOptions, StateDict, StateDictOptions } from '../nn/state';
import { bodyNow, isPendingTensor, PendingValue } from '../tensor/pending';
import { disposesMore } from '../tensor/places';
import { type Tensor, wrap, wrapElement } from '../tensor/tensor';
import { type Model, modelOf } from './model';
import { saveModel } from './save';
import { decode, encode, type ModelInput } from './values';

/** A model's methods on a pool thread. The last argument may be `{ signal }`. See docs/async.md. */
export interface AsyncScriptModule {
  forward<R = Tensor>(...args: (ModelInput | { signal: Signal | undefined })[]): Promise<R>;
  call<R = Tensor>(method: string, ...args: (ModelInput | { signal: Signal | undefined })[]): Promise<R>;
}

declare module '../../types/generated/classes' {
  interface ScriptModule {
    /** Calls the model. Arguments are positional; omitted ones have their defaults. */
    forward<R = Tensor>(...args: ModelInput[]): R;
    /** Calls one of its methods. */
    call<R = Tensor>(method: string, ...args: ModelInput[]): R;
    /** `forward` and `call` on a pool thread: `await model.async.forward(x)`. */
    readonly async: AsyncScriptModule;
    /** The names of its methods. */
    readonly methods: string[];
    /** Its parameters by name, which share the model's memory. */
    namedParameters(): Record<string, Tensor>;
    /** Its buffers by name, which share the model's memory. */
    namedBuffers(): Record<string, Tensor>;
    /** Moves the model to a device, including tensors obtained from it. */
    to<const V extends string>(device: DeviceLike<V>): this;
    /**
     * The model as a `torch.nn.Module` on the same memory: its parts by name, gradients, state dicts, hooks. The same object
     * each time. A model that is a property of a Module is registered as this Module. Such a model belongs to no scope.
     */
    asModule(): Module;
    /** Parameters and buffers by name, as of a Module: new handles that share the model's memory. */
    stateDict(options?: StateDictOptions): StateDict;
    /** Copies the tensors of a state dict into the parameters and buffers. Changes nothing if a key or shape does not fit. */
    loadStateDict(dict: object, options?: LoadStateDictOptions): IncompatibleKeys;
    /** A model with tensors of its own. */
    deepCopy(): ScriptModule;
    /**
     * Writes the file that `torch.jit.load` reads, here and in Python.
     *
     * @throws ERR_TORCH_MODEL if libtorch cannot save it, such as one of `optimizeForInference`
     */
    save(path: FilePath): void;
  }
}

/** Native code returns a list, or the method's error. */
export function readResult(result: unknown): unknown {
  if (!Array.isArray(result)) throw result;
  return decode(result);
}

/** Reads the arguments of a method. Done before recording, because it may run user code. */
function encoded(method: unknown, args: readonly unknown[]): readonly unknown[] {
  if (typeof method !== 'string') throw argumentError('ScriptModule.call', 'method', 'a string', method);
  return encode(`ScriptModule.${method}`, args);
}

function callMethod(model: Model, method: string, args: readonly unknown[]): unknown {
  const list = encoded(method, args);
  // Like a method of a pending tensor: recorded in that tensor's torch.run.
  const recorder =
    bodyNow() ??
    (native.flags[Flag.Recording] === RecordingMode.Off ? args.find(isPendingTensor)?.recorder : undefined);
  if (recorder !== undefined) return recorder.record(() => callEncoded(model, method, list), method);
  return callEncoded(model, method, list);
}

function callEncoded(model: Model, method: string, list: readonly unknown[]): unknown {
  const result = native.modelCall(model._live(), method, list);
  if (result !== undefined) return readResult(result);
  const code = native.result[0]!;
  return native.flags[Flag.Recording] === RecordingMode.RecordedValue
    ? new PendingValue(code, -1, [], readResult)
    : wrapElement(code);
}

/** Removes `{ signal }` from the end. A model's dictionary never holds an AbortSignal, so this is unambiguous. */
export function takeOptions(args: unknown[]): RunOptions {
  const last = args[args.length - 1] as RunOptions | undefined;
  if (typeof last !== 'object' || last === null || Object.keys(last).join() !== 'signal') return {};
  const { signal } = last;
  if (signal !== undefined && !(signal instanceof AbortSignal)) return {};
  args.pop();
  return { signal };
}

/** What `asModule` has made. */
const asModules = new WeakMap<Model, Module>();
/** Loaded when it is first used: a program that serves models does not need torch.nn. */
const scripted = () => require('./scripted') as typeof import('./scripted');

const members = {
  forward(this: unknown, ...args: unknown[]): unknown {
    const model = modelOf(this, 'forward');
    const module = asModules.get(model);
    // Hooks run around the Module's forward, which calls `call`.
    if (module !== undefined && module._callHooks !== null) return module.forward(...args);
    return callMethod(model, 'forward', args);
  },
  call(this: unknown, method: string, ...args: unknown[]): unknown {
    return callMethod(modelOf(this, 'call'), method, args);
  },
  get async(): unknown {
    const model = modelOf(this, 'async');
    const begin = (method: string, args: unknown[], caller: (...args: never[]) => unknown) => {
      const options = takeOptions(args);
      const recorded = (strand: Strand) => {
        const list = encoded(method, args);
        return strand.record(() => callEncoded(model, method, list));
      };
      return start(recorded, options, caller);
    };
    const forward = (...args: unknown[]) => begin('forward', args, forward);
    const call = (method: string, ...args: unknown[]) => begin(method, args, call);
    return { forward, call };
  },
  get methods(): string[] {
    return modelOf(this, 'methods').methodNames();
  },
  namedParameters(this: unknown): Record<string, Tensor> {
    const model = modelOf(this, 'namedParameters');
    return byName(model.parameterNames(), model.parameters());
  },
  namedBuffers(this: unknown): Record<string, Tensor> {
    const model = modelOf(this, 'namedBuffers');
    return byName(model.bufferNames(), model.buffers());
  },
  to(this: unknown, device: unknown): unknown {
    const model = modelOf(this, 'to');
    if (typeof device !== 'string')
      throw argumentError('ScriptModule.to', 'device', "a device such as 'cuda:0'", device);
    native.modelTo(model._live(), device);
    return model;
  },
  asModule(): Module {
    const model = modelOf(this, 'asModule');
    const made = asModules.get(model) ?? scripted().moduleOfModel(model);
    asModules.set(model, made);
    return made;
  },
  stateDict(options?: StateDictOptions): StateDict {
    const model = modelOf(this, 'stateDict');
    return scripted().withModule(model, asModules.get(model), (module) => module.stateDict(options));
  },
  loadStateDict(dict: object, options?: LoadStateDictOptions): IncompatibleKeys {
    const model = modelOf(this, 'loadStateDict');
    return scripted().withModule(model, asModules.get(model), (module) => module.loadStateDict(dict, options));
  },
  deepCopy(): ScriptModule {
    const model = modelOf(this, 'deepCopy');
    return ownScope(() => moduleOf(wrap(native.modelCopy(model._live()))!));
  },
  save(path: FilePath): void {
    saveModel('ScriptModule.save', modelOf(this, 'save'), path);
  },
  dispose(): void {
    const model = modelOf(this, 'dispose');
    const module = asModules.get(model);
    asModules.delete(model);
    NativeObject.prototype.dispose.call(model);
    module?.dispose(); // its handles hold the memory too
  },
  [Symbol.dispose](): void {
    modelOf(this, 'dispose').dispose();
  },
  [disposesMore]: true,
  [Symbol.for('nodejs.util.inspect.custom')](this: unknown): string {
    const model = modelOf(this, 'inspect');
    return model.disposed ? 'ScriptModule { disposed }' : `ScriptModule { ${model.methods.join(', ')} }`;
  },
};

function byName(names: readonly string[], tensors: readonly Tensor[]): Record<string, Tensor> {
  const all = {};
  for (const [i, name] of names.entries()) {
    Object.defineProperty(all, name, { value: tensors[i], writable: true, enumerable: true, configurable: true });
  }
  return all;
}

Object.defineProperties(classes.ScriptModule!.prototype, hidden(Object.getOwnPropertyDescriptors(members)));

/** Not enumerable, as methods of a class. */
function hidden(descriptors: PropertyDescriptorMap): PropertyDescriptorMap {
  for (const key of Reflect.ownKeys(descriptors)) Reflect.get(descriptors, key).enumerable = false;
  return descriptors;
}

/** The ScriptModule of a token. */
export function moduleOf(token: Tensor): ScriptModule {
  const Class = classes.ScriptModule as unknown as new (name: string, make: () => object) => ScriptModule;
  return new Class('ScriptModule', () => ({ handle: token._handle, guard: undefined, token }));
}
