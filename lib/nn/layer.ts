/** Classes of regular modules, made from their arguments and the function that they call. */
import type { Tensor } from '../tensor/tensor';
import { type Args, type Factory, made, read, type Spec, type Values } from './arguments';
import { takesInputs } from './hooks';
import { constant_ } from './init';
import { Module } from './module';
import { aten } from './ops';
import { Parameter } from './parameter';
import { snakeCase } from './python';

/** A module with a forward of this type. */
export interface Layer<F extends (...args: any[]) => any> extends Module {
  forward: F;
}

/** The class of a module whose arguments are its properties. */
export interface LayerClass<P extends unknown[], S extends Spec, F extends (...args: any[]) => any> {
  new (...args: Args<P, S>): Layer<F> & Values<S>;
  readonly prototype: Layer<F> & Values<S>;
}

export interface LayerParts<S extends Spec, F extends (...args: any[]) => any> {
  forward(this: Values<S> & Module, ...args: Parameters<F>): ReturnType<F>;
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

/** A class with the arguments `P`, called as `F`: `layer<P, F>()(name, spec, parts)`. */
export const layer =
  <P extends unknown[], F extends (...args: any[]) => any = (input: Tensor) => Tensor>() =>
  <S extends Spec>(
    name: string,
    spec: S,
    { forward, extra = '', init, inputs }: LayerParts<S, F>,
  ): LayerClass<P, S, F> => {
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
    return cls as unknown as LayerClass<P, S, F>;
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
