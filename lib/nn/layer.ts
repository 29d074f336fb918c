/** Classes of regular modules, made from their arguments and the function that they call. */
import type { LayerGives, LayerTakes, Same, SameFloat } from '../../types/algebra';
import type { Tensor } from '../tensor/tensor';
import { type Args, type Factory, made, read, type Spec, type Values } from './arguments';
import { takesInputs } from './hooks';
import { constant_ } from './init';
import { Module } from './module';
import { aten } from './ops';
import { Parameter } from './parameter';
import { snakeCase } from './python';

/** A layer of one tensor. In these interfaces `forward` is a method, so that a class can override it with one. */
export interface TensorLayer extends Module {
  forward(input: Tensor): Tensor;
}

/** A layer that changes only values. */
export interface ValueLayer extends Module {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: readonly ['same', 'layer'];
  forward<T extends Tensor>(input: T): Same<T>;
}

/** A layer that changes only values, of which integers become floats. */
export interface FloatLayer extends Module {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: readonly ['float', 'layer'];
  forward<T extends Tensor>(input: T): SameFloat<T>;
}

/** A layer that gives a tensor, or a tensor and indices. */
export interface IndexingLayer extends Module {
  forward(input: Tensor): any;
}

/** A layer or a loss of two tensors. */
export interface PairLayer extends Module {
  forward(input: Tensor, other: Tensor): Tensor;
}

/** @internal Exported for the declarations of libraries. */
export interface RuledLayer<R> extends Module {
  /** For the compiler: what `forward` does with shapes. */
  readonly _rule?: R;
  forward<T extends Tensor>(input: T & LayerTakes<T, R>): LayerGives<T, R>;
}
/**
 * The layer `Bare` with a `forward` that follows a rule of shapes. Its arguments cannot be changed, as its shapes would not be
 * right.
 */
export type Shaped<Bare, R> = RuledLayer<R> & Readonly<Omit<Bare, keyof Module>>;

/** The class of a module whose arguments are its properties. */
export interface LayerClass<P extends unknown[], S extends Spec, L extends Module> {
  new (...args: Args<P, S>): L & Values<S>;
  readonly prototype: L & Values<S>;
}

export interface LayerParts<S extends Spec, L extends Module> {
  forward(this: Values<S> & Module, ...args: Parameters<L['forward']>): ReturnType<L['forward']>;
  /** `extraRepr`: text with `{name}` for a value as Python prints it. */
  readonly extra?: string | ((values: Values<S>) => string);
  /** How many inputs `forward` takes, if it does not declare them one by one. */
  readonly inputs?: number;
  /** Runs after the arguments were read. */
  init?(module: Values<S> & Module): void;
}

/** The text of `extraRepr`. */
export function filledIn(template: string, spec: Spec, module: object): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) =>
    spec[name]!.text((module as Record<string, unknown>)[name]),
  );
}

/** "a={a}, b={b}" */
export const listed = (...names: string[]): string => names.map((name) => `${snakeCase(name)}={${name}}`).join(', ');

/** Sets the values of the arguments as properties; tensors that the module owns as buffers. */
export function assign(module: Module, spec: Spec, values: Record<string, unknown>): void {
  for (const name of Object.keys(spec)) {
    if (name === 'device' || name === 'dtype') continue;
    if (spec[name]!.buffer === true) module.registerBuffer(name, values[name] as Tensor | null);
    else (module as unknown as Record<string, unknown>)[name] = values[name];
  }
}

/** A class with the arguments `P` whose instances are `L`: `layer<P, L>()(name, spec, parts)`. */
export const layer =
  <P extends unknown[], L extends Module = TensorLayer>() =>
  <S extends Spec>(
    name: string,
    spec: S,
    { forward, extra = '', init, inputs }: LayerParts<S, L>,
  ): LayerClass<P, S, L> => {
    const cls = class extends Module {
      constructor(...passed: unknown[]) {
        super();
        assign(this, spec, read(name, spec, passed));
        init?.(this as unknown as Values<S> & Module);
      }

      override extraRepr(): string {
        return typeof extra === 'string' ? filledIn(extra, spec, this) : extra(this as unknown as Values<S>);
      }
    };
    Object.defineProperty(cls, 'name', { value: name });
    Object.defineProperty(cls.prototype, 'forward', { value: forward, writable: true, configurable: true });
    takesInputs(cls, inputs);
    return cls as unknown as LayerClass<P, S, L>;
  };

/** A new parameter without values. */
export function parameter(shape: readonly number[], options: Factory): Parameter {
  const empty = aten.empty(shape, made(options)) as Tensor;
  const own = new Parameter(empty);
  empty.dispose();
  return own;
}

/** A new parameter of one value. */
export const constant = (shape: readonly number[], value: number, options: Factory): Parameter =>
  constant_(parameter(shape, options), value) as Parameter;
