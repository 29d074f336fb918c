/** Lists and dicts of parameters. */
import { isPlainObject } from '../addon/options';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { Dict, isIterable, List, type SliceArguments } from './containers';
import { Parameter } from './parameter';

/** Tensors in a list become parameters, as in Python; parameters stay. */
function asParameter(fn: string, argument: string, value: unknown): Parameter {
  if (value instanceof Parameter) return value;
  if (isTensor(value)) return new Parameter(value);
  throw argumentError(fn, argument, 'a Parameter or a Tensor', value);
}

/** "Parameter containing: [torch.float32 of size 2x3]" */
function sizeText(parameter: Parameter): string {
  const where = parameter.device === 'cpu' ? '' : ` (${parameter.device})`;
  return `Parameter containing: [torch.${parameter.dtype} of size ${parameter.shape.join('x')}${where}]`;
}

const repr = (elements: ReadonlyMap<string, Parameter>) =>
  [...elements].map(([key, parameter]) => `  (${key}): ${sizeText(parameter)}`).join('\n');

/** A list of parameters. */
export class ParameterList extends List<Parameter> {
  constructor(parameters?: Iterable<Tensor> | null);
  constructor(...passed: [parameters?: Iterable<Tensor> | null]) {
    super();
    const [parameters = null] = upTo('nn.ParameterList', 1, passed);
    if (parameters !== null) this.extend(parameters);
  }

  override [Symbol.iterator](): IterableIterator<Parameter> {
    return this._elements.values();
  }

  append(parameter: Tensor): this {
    this._elements.set(String(this.length), asParameter('ParameterList.append', 'parameter', parameter));
    return this;
  }

  extend(parameters: Iterable<Tensor>): this {
    if (!isIterable(parameters) || isTensor(parameters)) {
      throw argumentError('ParameterList.extend', 'parameters', 'a list of Parameters', parameters);
    }
    const given = [...parameters].map((one, i) => asParameter('ParameterList.extend', `parameters[${i}]`, one));
    for (const parameter of given) this.append(parameter);
    return this;
  }

  /** The parameters from `start` up to `end`, as Python's `list[start:end:step]`; negative positions count from the end. */
  slice(...range: SliceArguments): ParameterList {
    return new ParameterList(this._from([...this._elements.values()], range));
  }

  set(index: number, parameter: Tensor): this {
    return this._setAt(index, () => asParameter('ParameterList.set', 'parameter', parameter));
  }

  /** @internal */
  override _replaceElement(name: string, value: unknown): void {
    this._elements.set(name, asParameter('ParameterList.set', name, value));
  }

  override extraRepr(): string {
    return repr(this._elements);
  }
}

/** Parameters by name. */
export class ParameterDict extends Dict<Parameter> {
  constructor(parameters?: Iterable<[string, Tensor]> | Record<string, Tensor> | null);
  constructor(...passed: [parameters?: Iterable<[string, Tensor]> | Record<string, Tensor> | null]) {
    super();
    const [parameters = null] = upTo('nn.ParameterDict', 1, passed);
    if (parameters !== null) this.update(parameters as Record<string, Parameter>);
  }

  /** @internal */
  override _demand(fn: string, entries: readonly (readonly [key: string, value: unknown])[]): Parameter[] {
    return entries.map(([key, value]) => asParameter(fn, key, value));
  }

  /** The entries of a plain object are in the order of their names, as those of a dict in Python; those of a Map in its own. */
  override update(entries: Iterable<[string, Parameter]> | Record<string, Parameter> | Dict<Parameter>): this {
    const isPlain = isPlainObject(entries) && !isIterable(entries);
    return super.update(isPlain ? Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)) : entries);
  }

  override extraRepr(): string {
    return repr(this._elements);
  }
}
