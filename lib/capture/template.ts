/** What a captured function returned, as a template: every replay returns a new value of the same form. */
import { isPending, isPlain } from '../tensor/places';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { CaptureStrand } from './strand';

export type Template =
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'input'; readonly position: number }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'list'; readonly length: number; readonly members: readonly Member[] }
  | { readonly kind: 'object'; readonly bare: boolean; readonly members: readonly Member[] };

interface Member {
  readonly name: string;
  readonly enumerable: boolean;
  readonly template: Template;
}

/** The template of a result, and the codes of the pending tensors in it. Refuses results that cannot be made anew. */
export function templateOf(
  root: unknown,
  strand: CaptureStrand,
  inputs: ReadonlyMap<unknown, number>,
): { template: Template; codes: number[] } {
  const codes: number[] = [];
  const outputs = new Map<unknown, number>();
  const above = new Set<object>();
  const seen = new Set<object>();
  const of = (value: unknown): Template => {
    const position = inputs.get(value);
    if (position !== undefined) return { kind: 'input', position };
    if (isPending(value)) return { kind: 'output', index: output(value as Tensor) };
    if (isTensor(value)) {
      if (value.disposed) strand.refuse('it returns a tensor that it makes from JavaScript values');
      return { kind: 'value', value };
    }
    if (typeof value === 'function') strand.refuse('it returns a function');
    if (typeof value !== 'object' || value === null) return { kind: 'value', value };
    if (!isList(value) && !isPlain(value)) {
      if (typeof (value as { then?: unknown }).then === 'function') {
        Promise.resolve(value).catch(() => {}); // of the recording; the call itself makes its own promise
        strand.refuse('it returns a promise');
      }
      strand.refuse('it returns an object that is neither an array nor a plain object');
    }
    return members(value);
  };
  const output = (value: Tensor): number => {
    let index = outputs.get(value);
    if (index === undefined) {
      if ((value as { recorder?: unknown }).recorder !== strand) strand.refuse('it returns a pending tensor');
      index = codes.push(value._handle) - 1;
      outputs.set(value, index);
    }
    return index;
  };
  const members = (value: object): Template => {
    if (above.has(value)) strand.refuse('it returns an object that contains itself');
    if (seen.has(value)) strand.refuse('it returns one object in two places');
    if (!Object.isExtensible(value)) strand.refuse('it returns a frozen object');
    if (Object.getOwnPropertySymbols(value).length > 0) strand.refuse('it returns an object with a symbol as a key');
    above.add(value);
    seen.add(value);
    const list = Array.isArray(value);
    const found: Member[] = [];
    for (const name of Object.getOwnPropertyNames(value)) {
      if (list && name === 'length') continue;
      const { enumerable, get, set } = Object.getOwnPropertyDescriptor(value, name)!;
      if (get !== undefined || set !== undefined) strand.refuse(`it returns an object whose '${name}' is an accessor`);
      found.push({ name, enumerable: enumerable!, template: of((value as Record<string, unknown>)[name]) });
    }
    above.delete(value);
    if (list) return { kind: 'list', length: value.length, members: found };
    return { kind: 'object', bare: Object.getPrototypeOf(value) === null, members: found };
  };
  return { template: of(root), codes };
}

/** Whether it is an array of no other class, of any realm. */
function isList(value: object): value is unknown[] {
  return Array.isArray(value) && isPlain(Object.getPrototypeOf(value) as object);
}

/** A new result. */
export function build(template: Template, outputs: readonly unknown[], args: readonly unknown[]): unknown {
  switch (template.kind) {
    case 'output':
      return outputs[template.index];
    case 'input':
      return args[template.position];
    case 'value':
      return template.value;
    default: {
      const made: object =
        template.kind === 'list' ? new Array(template.length) : template.bare ? Object.create(null) : {};
      for (const { name, enumerable, template: inner } of template.members) {
        const value = build(inner, outputs, args);
        Object.defineProperty(made, name, { value, enumerable, writable: true, configurable: true });
      }
      return made;
    }
  }
}
