/** torch.nn.utils.parametrize: parameters that modules compute from others whenever they are read. */
import { ownOptions } from '../../addon/options';
import { inGradMode } from '../../autograd/mode';
import { argumentError } from '../../errors/errors';
import { restoring } from '../../errors/restoring';
import { type InLibraryScope, ownScope, withLibraryScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { ModuleDict, ModuleList } from '../containers';
import { prepareClasses } from '../hooks';
import { Module } from '../module';
import { held, owned, Parameter, setData } from '../parameter';
import { propertiesOf, retire, taken } from './computed';

const at = (fn: string) => `nn.utils.parametrize.${fn}`;

/** A parametrization: `forward` computes the tensor, `rightInverse` the tensors from which it would be computed. */
export interface Parametrization extends Module {
  rightInverse?(value: Tensor): Tensor | Tensor[];
}

const isUnimplemented = (error: unknown) => (error as { code?: unknown } | null)?.code === 'ERR_TORCH_NOT_IMPLEMENTED';

/** Throws unless the tensors have one dtype and shape. */
function demandLike(fn: string, expected: Tensor, value: unknown, what = 'result'): asserts value is Tensor {
  const text = `${expected.dtype}[${expected.shape.join(', ')}]`;
  const fits =
    isTensor(value) && value.dtype === expected.dtype && value.shape.join() === (expected.shape as number[]).join();
  if (!fits) throw argumentError(at(fn), 'parametrization', `one whose ${what} is a Tensor ${text}`, value);
}

function register(module: Module, name: string, tensor: Tensor): void {
  if (tensor instanceof Parameter) module.registerParameter(name, tensor);
  else module.registerBuffer(name, tensor);
}

/** The parametrizations of one tensor, and the tensors from which they compute it. */
export class ParametrizationList extends ModuleList {
  declare original: Tensor;
  unsafe: boolean;
  isTensor: boolean;
  ntensors: number;

  constructor(modules: Iterable<Module>, original: Tensor, unsafe = false) {
    super(modules);
    const fn = 'ParametrizationList';
    if (this.length === 0) throw argumentError(at(fn), 'modules', 'one or more Modules', []);
    this.unsafe = unsafe;
    this.isTensor = true;
    this.ntensors = 1;
    ownScope(() => {
      const before = held(original);
      try {
        this.#store(fn, original);
        if (!unsafe) demandLike(fn, before, this.forward());
      } catch (error) {
        if (this.isTensor) inGradMode(false, () => setData(original, before)); // the module keeps its tensor
        throw error;
      }
      before.dispose();
    }, false);
  }

  #store(fn: string, original: Tensor): void {
    const value = inGradMode(false, () => {
      let value: unknown = original;
      for (const module of [...this].reverse() as Parametrization[]) {
        if (module.rightInverse === undefined) continue;
        try {
          value = module.rightInverse(value as Tensor);
        } catch (error) {
          if (!isUnimplemented(error)) throw error; // an inverse that is not known is the identity
        }
      }
      return value;
    });
    this.isTensor = isTensor(value);
    if (isTensor(value)) {
      if (value.dtype !== original.dtype) {
        throw argumentError(at(fn), 'parametrization', `one whose rightInverse gives ${original.dtype}`, value);
      }
      const data = value;
      if (data !== original) inGradMode(false, () => setData(original, data));
      register(this, 'original', original);
      return;
    }
    if (!Array.isArray(value) || !value.every(isTensor)) {
      throw argumentError(at(fn), 'parametrization', 'one whose rightInverse gives a Tensor or Tensors', value);
    }
    this.ntensors = value.length;
    value.forEach((tensor: Tensor, i) => {
      const { requiresGrad } = original;
      const own = original instanceof Parameter ? new Parameter(tensor, { requiresGrad }) : tensor;
      register(this, `original${i}`, own);
    });
  }

  /** @internal */
  _originals(): Tensor[] {
    if (this.isTensor) return [this.original];
    return Array.from({ length: this.ntensors }, (_, i) => propertiesOf(this)[`original${i}`]!);
  }

  /** Stores the tensors from which `value` is computed. */
  rightInverse(given: Tensor): void {
    const fn = 'ParametrizationList.rightInverse';
    inGradMode(false, () =>
      ownScope(() => {
        let value: unknown = given;
        for (const module of [...this].reverse() as Parametrization[]) {
          if (module.rightInverse === undefined) {
            const expected = 'parametrizations with a rightInverse';
            throw argumentError(at(fn), 'parametrization', expected, module.constructor.name);
          }
          value = module.rightInverse(value as Tensor);
        }
        const values: unknown[] = this.isTensor ? [value] : Array.isArray(value) ? value : [];
        const originals = this._originals();
        const fits =
          values.length === originals.length &&
          values.every((one, i) => isTensor(one) && one.dtype === originals[i]!.dtype);
        if (!fits) throw argumentError(at(fn), 'value', `${originals.length} Tensors of the same dtypes`, value);
        originals.forEach((original, i) => {
          if (values[i] !== original) setData(original, values[i] as Tensor);
        });
      }, false),
    );
  }

  override forward(): Tensor {
    return ownScope(() => {
      const [first, ...others] = [...this] as [Module, ...Module[]];
      let value: Tensor = first.forward(...this._originals());
      for (const module of others) value = module.forward(value);
      return value;
    }, false);
  }
}

/** A module with parametrizations of the tensors `N`. */
export type Parametrized<N extends string> = {
  readonly parametrizations: ModuleDict & { readonly [K in N]: ParametrizationList };
};

let cacheDepth = 0;
let cache = new Map<ParametrizationList, Tensor>();

/** Runs `fn`, in which each parametrized tensor is computed only once. */
export function cached<T>(fn: () => T): T {
  if (typeof fn !== 'function') throw argumentError(at('cached'), 'fn', 'a function', fn);
  cacheDepth++;
  return restoring(
    () => {
      cacheDepth--;
      if (cacheDepth > 0) return;
      const ended = cache;
      cache = new Map();
      for (const tensor of ended.values()) tensor.dispose();
    },
    () => {
      const result = fn();
      if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
        throw argumentError(at('cached'), 'fn', 'a synchronous function', fn);
      }
      return result;
    },
  );
}

const listsOf = (module: Module): ModuleDict | null => {
  const value: unknown = (module as { parametrizations?: unknown }).parametrizations;
  return value instanceof ModuleDict ? value : null;
};

const listOf = (module: Module, name: string) =>
  listsOf(module)?.get(module._keyOf(name)) as ParametrizationList | undefined;

/** The innermost call of `forward` of a module with parametrizations. */
let calling: { readonly module: Module; readonly inLibraryScope: InLibraryScope } | null = null;

function computed(module: Module, name: string): Tensor {
  const list = listOf(module, name)!;
  if (cacheDepth === 0)
    return calling?.module === module ? calling.inLibraryScope(() => list.forward()) : list.forward();
  let tensor = cache.get(list);
  if (tensor === undefined) {
    tensor = owned(list.forward()) as Tensor;
    cache.set(list, tensor);
  }
  return tensor;
}

const classes = new WeakMap<object, { prototype: Module }>();

/** The class of modules of this class with parametrizations, as Python names it. */
function parametrizedClass(like: { prototype: Module; name: string }): { prototype: Module } {
  const known = classes.get(like.prototype);
  if (known !== undefined) return known;
  const cls = class extends (like as unknown as new () => Module) {
    /** Tensors computed from its parametrizations are released when it returns; all others are those of the program. */
    override forward(...inputs: unknown[]): unknown {
      return withLibraryScope((inLibraryScope) => {
        const outer = calling;
        const undo = () => {
          calling = outer;
        };
        return restoring(undo, () => {
          calling = { module: this, inLibraryScope };
          return super.forward(...inputs);
        });
      });
    }
  };
  Object.defineProperty(cls, 'name', { value: `Parametrized${like.name}` });
  prepareClasses(cls.prototype, Module.prototype);
  classes.set(like.prototype, cls);
  return cls;
}

function inject(module: Module, name: string, list: ParametrizationList): void {
  if (!isParametrized(module)) {
    Object.setPrototypeOf(module, parametrizedClass(module.constructor as never).prototype);
    (module as { parametrizations?: ModuleDict }).parametrizations = new ModuleDict();
  }
  Object.defineProperty(module, name, {
    configurable: true,
    enumerable: false,
    get(this: Module) {
      return computed(this, name);
    },
    set(this: Module, value: Tensor) {
      listOf(this, name)!.rightInverse(value);
    },
  });
  const lists = listsOf(module)!;
  const key = module._keyOf(name);
  lists.set(key, list);
  // As attributes in Python: net.parametrizations.weight. A member of every ModuleDict, such as `get` or `length`, stays.
  if (name in lists) return;
  Object.defineProperty(lists, name, {
    configurable: true,
    enumerable: false,
    get(this: ModuleDict) {
      return this.get(key);
    },
  });
}

/** One more parametrization, of a tensor that has some already. */
function append(module: Module, name: string, parametrization: Parametrization, unsafe: boolean): void {
  const fn = 'registerParametrization';
  const list = listOf(module, name)!;
  if (!unsafe) {
    ownScope(() => {
      const before = computed(module, name);
      const after: unknown = parametrization.forward(before);
      demandLike(fn, before, after);
      if (parametrization.rightInverse === undefined) return;
      try {
        demandLike(fn, before, parametrization.rightInverse(after), 'rightInverse');
      } catch (error) {
        if (!isUnimplemented(error)) throw error; // an inverse that is not known is the identity
      }
    }, false);
  }
  list.append(parametrization);
  list.unsafe ||= unsafe;
}

function demandName(fn: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw argumentError(at(fn), 'tensorName', 'a string', value);
}

function demandModule(fn: string, name: string, value: unknown): asserts value is Module {
  if (!(value instanceof Module)) throw argumentError(at(fn), name, 'a Module', value);
}

/**
 * Computes a parameter or buffer with `parametrization.forward` whenever it is read. Its `rightInverse`, if it has one, gives
 * the first value, and the value when the property is set. `unsafe`: it may change the dtype and shape.
 */
export function registerParametrization<M extends Module, N extends string>(
  module: M,
  tensorName: N,
  parametrization: Parametrization,
  options: { unsafe?: boolean | undefined } = {},
): M & Parametrized<N> {
  const fn = 'registerParametrization';
  const { unsafe = false } = ownOptions(at(fn), options, ['unsafe']);
  demandModule(fn, 'module', module);
  demandName(fn, tensorName);
  demandModule(fn, 'parametrization', parametrization);
  parametrization.train(module.training);
  if (isParametrized(module, tensorName)) append(module, tensorName, parametrization, unsafe);
  else {
    const value = Object.hasOwn(module, tensorName) ? propertiesOf(module)[tensorName] : undefined;
    const isOwn = value instanceof Parameter || module._state.buffers.has(tensorName);
    if (!isOwn || !isTensor(value)) {
      throw argumentError(at(fn), 'tensorName', `a parameter or buffer of ${module.constructor.name}`, tensorName);
    }
    const list = new ParametrizationList([parametrization], value, unsafe);
    taken(module, tensorName);
    inject(module, tensorName, list);
  }
  return module as M & Parametrized<N>;
}

/** Whether a tensor of a module is parametrized; without a name, whether any is. */
export function isParametrized(module: Module, tensorName: string | null = null): boolean {
  demandModule('isParametrized', 'module', module);
  if (tensorName !== null) demandName('isParametrized', tensorName);
  const lists = listsOf(module);
  if (lists === null) return false;
  return tensorName === null ? lists.length > 0 : lists.has(module._keyOf(tensorName));
}

/**
 * Makes a parametrized tensor an ordinary one: with its present value, or with `leaveParametrized: false` with the tensor from
 * which that is computed.
 */
export function removeParametrizations<M extends Module>(
  module: M,
  tensorName: string,
  options: { leaveParametrized?: boolean | undefined } | boolean = {},
): M {
  const fn = 'removeParametrizations';
  const given = typeof options === 'boolean' ? { leaveParametrized: options } : options;
  const { leaveParametrized = true } = ownOptions(at(fn), given, ['leaveParametrized']);
  demandModule(fn, 'module', module);
  if (typeof tensorName !== 'string' || !isParametrized(module, tensorName)) {
    throw argumentError(at(fn), 'tensorName', `a parametrized tensor of ${module.constructor.name}`, tensorName);
  }
  const list = listOf(module, tensorName)!;
  if (!list.isTensor && !leaveParametrized) {
    const expected = 'true for a tensor that is computed from several';
    throw argumentError(at(fn), 'leaveParametrized', expected, leaveParametrized);
  }
  ownScope(() => {
    const lists = listsOf(module)! as ModuleDict & Record<string, unknown>;
    let original: Tensor;
    if (list.isTensor) {
      ({ original } = list);
      if (leaveParametrized) inGradMode(false, () => setData(original, computed(module, tensorName)));
    } else {
      const value = computed(module, tensorName);
      original = value.requiresGrad ? new Parameter(value) : value;
      for (const one of list._originals()) retire(module, one);
    }
    delete propertiesOf(module)[tensorName];
    lists.delete(module._keyOf(tensorName));
    delete lists[tensorName];
    register(module, tensorName, original);
    if (isParametrized(module)) return;
    delete (module as { parametrizations?: unknown }).parametrizations;
    Object.setPrototypeOf(module, Object.getPrototypeOf(Object.getPrototypeOf(module)));
  }, false);
  return module;
}

/** The class of a module before its first parametrization. */
export function typeBeforeParametrizations(module: Module): new (...args: any[]) => Module {
  demandModule('typeBeforeParametrizations', 'module', module);
  const prototype = Object.getPrototypeOf(module);
  return (isParametrized(module) ? Object.getPrototypeOf(prototype) : prototype).constructor;
}

/** Gives `toModule` the parametrizations of `fromModule` and the tensors from which they compute; of one tensor, or of all. */
export function transferParametrizationsAndParams<M extends Module>(
  fromModule: Module,
  toModule: M,
  tensorName: string | null = null,
): M {
  const fn = 'transferParametrizationsAndParams';
  demandModule(fn, 'fromModule', fromModule);
  demandModule(fn, 'toModule', toModule);
  if (!isParametrized(fromModule)) throw argumentError(at(fn), 'fromModule', 'a parametrized Module', fromModule);
  if (tensorName !== null && (typeof tensorName !== 'string' || !isParametrized(fromModule, tensorName))) {
    throw argumentError(at(fn), 'tensorName', `a parametrized tensor of ${fromModule.constructor.name}`, tensorName);
  }
  const names = tensorName === null ? Object.getOwnPropertyNames(fromModule) : [tensorName];
  for (const name of names.filter((one) => isParametrized(fromModule, one))) {
    if (!(name in toModule)) {
      ownScope(() => toModule.registerParameter(name, new Parameter(computed(fromModule, name))), false);
    }
    const from = listOf(fromModule, name)!;
    for (const parametrization of from) registerParametrization(toModule, name, parametrization);
    const to = listOf(toModule, name)!;
    for (const [key, original] of [...from._ownParameters(), ...from._ownBuffers()]) propertiesOf(to)[key] = original;
  }
  return toModule;
}
