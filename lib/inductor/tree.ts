/**
 * The nesting of a model's arguments and result, as PyTorch serialized it (torch.utils._pytree.treespec_dumps): converts
 * between a tree of values and the flat list of tensors of the compiled code.
 */
import type { PendingTensor } from '../../types/pending';
import { isMap } from '../addon/collections';
import { describe, refusal } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';

const MAX_DEPTH = 200;

/** Leaves are tensors, or values that were constants when the model was compiled. */
export type Tree =
  | { readonly kind: 'leaf' }
  | { readonly kind: 'list'; readonly parts: readonly Tree[] }
  | { readonly kind: 'dict'; readonly keys: readonly (string | number)[]; readonly parts: readonly Tree[] };

export type PackageInput =
  | Tensor
  | PendingTensor
  | number
  | bigint
  | boolean
  | string
  | null
  | undefined
  | readonly PackageInput[]
  | ReadonlyMap<string | number, PackageInput>
  | { readonly [name: string]: PackageInput };

interface Written {
  type?: unknown;
  context?: unknown;
  children_spec?: unknown;
}

/** Null for an unsupported form. */
export function parseTree(text: string): Tree | null {
  try {
    const [protocol, root] = JSON.parse(text);
    return protocol === 1 ? nodeOf(root, 0) : null;
  } catch {
    return null; // not JSON, or another structure
  }
}

function nodeOf({ type, context, children_spec: children }: Written, depth: number): Tree {
  if (depth > MAX_DEPTH || !Array.isArray(children)) throw new Error('invalid tree');
  if (type === null) return { kind: 'leaf' };
  const parts = children.map((child) => nodeOf(child, depth + 1));
  const keys = keysOf(type, context);
  if (keys === null) return { kind: 'list', parts };
  if (keys.length !== parts.length) throw new Error('invalid tree');
  return { kind: 'dict', keys, parts };
}

/** The keys of a dictionary; null for other containers, which become lists. */
function keysOf(type: unknown, context: unknown): (string | number)[] | null {
  let keys: unknown;
  if (type === 'builtins.dict' || type === 'collections.OrderedDict') keys = JSON.parse(context as string);
  else if (type === 'collections.defaultdict') keys = JSON.parse(context as string).dict_context;
  else return null;
  if (!Array.isArray(keys)) throw new Error('invalid tree');
  if (!keys.every((key) => typeof key === 'string' || typeof key === 'number')) throw new Error('invalid tree');
  return keys;
}

/** Appends the tensors of `value` to `tensors`, in order. `where`: its name in errors. */
export function flatten(tree: Tree, value: unknown, where: string, fn: string, tensors: Tensor[]): void {
  if (tree.kind === 'leaf') {
    if (isTensor(value)) tensors.push(value);
    else if (typeof value === 'object' && value !== null) throw refusal(fn, where, 'a Tensor', describe(value));
    else if (typeof value === 'function' || typeof value === 'symbol') {
      throw refusal(fn, where, 'a Tensor', describe(value));
    }
    return; // a constant of the model, which PyTorch ignores too
  }
  if (tree.kind === 'list') {
    if (!Array.isArray(value) || value.length !== tree.parts.length) {
      throw refusal(fn, where, `an array of ${tree.parts.length}`, describe(value));
    }
    for (const [i, part] of tree.parts.entries()) flatten(part, value[i], `${where}[${i}]`, fn, tensors);
    return;
  }
  const entries = entriesOf(value, tree.keys);
  const names = tree.keys.join(', ');
  if (entries === null) throw refusal(fn, where, `an object with ${names}`, describe(value));
  for (const [i, key] of tree.keys.entries()) {
    const inside = typeof key === 'number' ? `${where}[${key}]` : `${where}.${key}`;
    if (!entries.has(key)) throw refusal(fn, inside, `a value in an object with ${names}`, 'nothing');
    flatten(tree.parts[i]!, entries.get(key), inside, fn, tensors);
  }
  if (entries.size !== tree.keys.length) {
    const others = [...entries.keys()].filter((key) => !(tree.keys as unknown[]).includes(key));
    throw refusal(fn, where, `an object with only ${names}`, `an additional ${describe(others[0])}`);
  }
}

/** Converts the string keys of an object back to numbers. */
function entriesOf(value: unknown, keys: readonly (string | number)[]): Map<unknown, unknown> | null {
  if (typeof value !== 'object' || value === null || isTensor(value) || Array.isArray(value)) return null;
  if (isMap(value)) return value;
  const ofText = new Map(keys.map((key) => [String(key), key]));
  return new Map(Object.entries(value).map(([name, part]) => [ofText.get(name) ?? name, part]));
}

/** The value with these tensors as leaves; undefined if their number differs. */
export function unflatten(tree: Tree, tensors: readonly unknown[]): unknown {
  if (leavesOf(tree) !== tensors.length) return undefined;
  let at = 0;
  const build = (node: Tree): unknown => {
    if (node.kind === 'leaf') return tensors[at++];
    const parts = node.parts.map(build);
    if (node.kind === 'list') return parts;
    if (node.keys.some((key) => typeof key === 'number')) return new Map(node.keys.map((key, i) => [key, parts[i]]));
    const object = {};
    for (const [i, key] of node.keys.entries()) {
      // Not an assignment: a key may be __proto__.
      Object.defineProperty(object, key, { value: parts[i], writable: true, enumerable: true, configurable: true });
    }
    return object;
  };
  return build(tree);
}

const leavesOf = (tree: Tree): number =>
  tree.kind === 'leaf' ? 1 : tree.parts.reduce((sum, part) => sum + leavesOf(part), 0);
