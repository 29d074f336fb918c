/** A TorchScript model as a `torch.nn.Module`: parameters, buffers and parts by name, on the model's own memory. */
import { native } from '../addon/native';
import { codedError } from '../errors/errors';
import { Module } from '../nn/module';
import { owned, Parameter } from '../nn/parameter';
import type { Tensor } from '../tensor/tensor';
import type { Model } from './model';

/** What native code says of a model. A place is that of the tensor in `parameters()` or `buffers()`. */
type Tree = [
  parts: string[],
  classes: string[],
  parameters: string[],
  parameterPlaces: number[],
  buffers: string[],
  bufferPlaces: number[],
];

/** The part of a model with this place in its tree; 0 is the model itself. Python's class for both has this name. */
class RecursiveScriptModule extends Module {
  /** @internal In Python's order: parameters, buffers, parts. Not properties: a part may have any name. */
  declare readonly _parts: Map<string, Parameter | Tensor | RecursiveScriptModule>;
  readonly #model: Model;
  readonly #place: number;
  readonly #class: string;

  constructor(model: Model, place: number, className: string) {
    super();
    this.#model = model;
    this.#place = place;
    this.#class = className;
    Object.defineProperty(this, '_parts', { value: new Map() });
    Object.defineProperty(this, 'training', {
      get: () => native.modelIsPartTraining(model._live(), place),
      set: (mode: boolean) => native.modelTrainPart(model._live(), place, mode),
      enumerable: true,
    });
  }

  override forward(...inputs: any[]): any {
    if (this.#place !== 0) return super.forward(...inputs);
    return this.#model.call('forward', ...inputs);
  }

  /** @internal */
  override _members(): [name: string, value: unknown][] {
    return [...this._parts];
  }

  /** @internal For `deepCopy`: the model copies its own tensors. */
  _copied(): Module {
    if (this.#place !== 0) {
      const text = 'deepCopy: expected a model or a Module around it, got a part of a ScriptModule';
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', text);
    }
    return this.#model.deepCopy().asModule();
  }

  override extraRepr(): string {
    return `original_name=${this.#class}`;
  }
}

/** The names before and after the last '.'. */
function parted(name: string): [part: string, own: string] {
  const dot = name.lastIndexOf('.');
  return dot < 0 ? ['', name] : [name.slice(0, dot), name.slice(dot + 1)];
}

function asParameter(tensor: Tensor): Parameter {
  return Object.setPrototypeOf(owned(tensor), Parameter.prototype);
}

/** The model as modules, with handles that no scope owns. */
function build(model: Model): RecursiveScriptModule {
  const [names, classes, parameterNames, parameterPlaces, bufferNames, bufferPlaces] = native.modelTree(
    model._live(),
  ) as Tree;
  const parameters = model.parameters().map(asParameter);
  const buffers = model.buffers().map(owned) as Tensor[];
  const parts = new Map(
    names.map((name, place) => [name, new RecursiveScriptModule(model, place, classes[place]!)] as const),
  );
  const add = (name: string, value: Parameter | Tensor | RecursiveScriptModule): RecursiveScriptModule => {
    const [around, own] = parted(name);
    const part = parts.get(around)!;
    part._parts.set(own, value);
    return part;
  };
  for (const [i, name] of parameterNames.entries()) add(name, parameters[parameterPlaces[i]!]!);
  for (const [i, name] of bufferNames.entries()) {
    add(name, buffers[bufferPlaces[i]!]!)._state.buffers.set(parted(name)[1], true);
  }
  for (const [name, part] of parts) if (name !== '') add(name, part);
  return parts.get('')!;
}

/** The Module that lasts as long as the model, which leaves its scope: like a parameter, it belongs to none. */
export function moduleOfModel(model: Model): Module {
  const module = build(model);
  owned(model._token);
  module._state.retired.add(new WeakRef(model));
  return module;
}

/** Calls `use` with the model's lasting Module, or with one for this call. */
export function withModule<T>(model: Model, lasting: Module | undefined, use: (module: Module) => T): T {
  if (lasting !== undefined) return use(lasting);
  const module = build(model);
  try {
    return use(module);
  } finally {
    module.dispose(); // only its handles
  }
}
