/** A TorchScript model as a `torch.nn.Module`: parameters, buffers and parts by name, on the model's own memory. */
import { native } from '../addon/native';
import { argumentError, codedError, describe } from '../errors/errors';
import { Module } from '../nn/module';
import { owned, Parameter } from '../nn/parameter';
import type { Tensor } from '../tensor/tensor';
import { isModel, type Model } from './model';

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
  readonly #whole: Whole;
  readonly #place: number;
  readonly #class: string;

  constructor(model: Model, whole: Whole, place: number, className: string) {
    super();
    this.#model = model;
    this.#whole = whole;
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
    this.#whole.update();
    return [...this._parts];
  }

  /** @internal */
  override _children(strict = true): [name: string, child: Module][] {
    if (strict) this.#refuseAdded();
    return super._children(strict);
  }

  #refuseAdded(): void {
    for (const name of Object.keys(this)) {
      if (name === 'training') continue;
      const value = (this as unknown as Record<string, unknown>)[name];
      if (!(value instanceof Module || value instanceof Parameter || isModel(value))) continue;
      const text = `expected a property of a Module around the model, whose code is fixed, got ${describe(value)}`;
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${this.constructor.name}.${name}: ${text}`);
    }
  }

  override registerBuffer(): void {
    throw this.#isFixed('registerBuffer');
  }

  override registerParameter(): void {
    throw this.#isFixed('registerParameter');
  }

  override registerModule(): void {
    throw this.#isFixed('registerModule');
  }

  /** As in Python: the model's code would neither use nor save what is added. */
  #isFixed(fn: string): Error {
    return argumentError(fn, 'this', 'a Module around the model, whose code is fixed', this);
  }

  /** @internal The model, of which `fn` takes no part. */
  _whole(fn: string): Model {
    if (this.#place === 0) return this.#model;
    const text = `${fn}: expected a model or a Module around it, got a part of a ScriptModule`;
    throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', text);
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

const asBuffer = (tensor: Tensor) => owned(tensor) as Tensor;

/** A model as modules, with handles that no scope owns. They follow the model, whose code may replace its tensors. */
class Whole {
  readonly #model: Model;
  readonly #parts: ReadonlyMap<string, RecursiveScriptModule>;
  /** By name: all parameters, then all buffers. */
  #tensors: ReadonlyMap<string, Tensor>;
  #changes: number;

  constructor(model: Model) {
    this.#model = model;
    this.#changes = native.modelChanges(model._live());
    const tree = treeOf(model);
    const [names, classes] = tree;
    this.#parts = new Map(
      names.map((name, place) => [name, new RecursiveScriptModule(model, this, place, classes[place]!)]),
    );
    this.#tensors = this.#fill(tree, new Map());
  }

  get module(): RecursiveScriptModule {
    return this.#parts.get('')!;
  }

  /** Puts the tensors that the model has now in place of others. While a call changes the model, they are as before it. */
  update(): void {
    if (this.#model.disposed) return;
    const changes = native.modelChanges(this.#model._live());
    if (changes === this.#changes) return;
    const known = [...this.#tensors];
    const handles = known.map(([, tensor]) => tensor._handle);
    const replaced = native.modelReplaced(this.#model._live(), handles);
    if (replaced === null) return;
    this.#changes = changes;
    if (replaced.length === 0) return;
    const kept = new Map(known);
    for (const place of replaced) if (place < known.length) kept.delete(known[place]![0]);
    this.#tensors = this.#fill(treeOf(this.#model), kept);
  }

  /** Gives the parts what they have now: the tensors of `kept`, and new handles of the others. Returns all tensors by name. */
  #fill(tree: Tree, kept: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    const [, , parameters, parameterPlaces, buffers, bufferPlaces] = tree;
    const all = new Map([
      ...taken(parameters, parameterPlaces, this.#model.parameters(), asParameter, kept),
      ...taken(buffers, bufferPlaces, this.#model.buffers(), asBuffer, kept),
    ]);
    for (const part of this.#parts.values()) part._parts.clear();
    const add = (name: string, value: Tensor | RecursiveScriptModule) => {
      const [around, own] = parted(name);
      this.#parts.get(around)!._parts.set(own, value);
    };
    for (const [name, tensor] of all) add(name, tensor);
    for (const [name, part] of this.#parts) if (name !== '') add(name, part);
    for (const name of buffers) {
      const [around, own] = parted(name);
      this.#parts.get(around)!._state.buffers.set(own, true);
    }
    return all;
  }
}

/** The tensors by name: those of `kept`, and the others as `own` makes them of the new handles. */
function taken(
  names: readonly string[],
  places: readonly number[],
  handles: readonly Tensor[],
  own: (tensor: Tensor) => Tensor,
  kept: ReadonlyMap<string, Tensor>,
): [name: string, tensor: Tensor][] {
  const tensors: (Tensor | undefined)[] = [];
  for (const [i, name] of names.entries()) tensors[places[i]!] ??= kept.get(name);
  for (const [place, handle] of handles.entries()) {
    if (tensors[place] === undefined) tensors[place] = own(handle);
    else handle.dispose();
  }
  return names.map((name, i) => [name, tensors[places[i]!]!]);
}

const treeOf = (model: Model) => native.modelTree(model._live()) as Tree;

/** The Module that lasts as long as the model, which leaves its scope: like a parameter, it belongs to none. */
export function moduleOfModel(model: Model): Module {
  const { module } = new Whole(model);
  owned(model._token);
  module._state.model = model;
  return module;
}

/** Calls `use` with the model's lasting Module, or with one for this call. */
export function withModule<T>(model: Model, lasting: Module | undefined, use: (module: Module) => T): T {
  if (lasting !== undefined) return use(lasting);
  const { module } = new Whole(model);
  try {
    return use(module);
  } finally {
    module.dispose(); // only its handles
  }
}
