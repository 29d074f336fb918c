/** The nesting of arguments and results in PyTorch's notation: the same on every libtorch. */
import * as path from 'node:path';
import { balanced, LIB, thrown, torch } from '../support/torch';

const { flatten, parseTree, unflatten } = require(path.join(LIB, 'inductor/tree.js'));

const node = (type: string | null, context: string | null, ...children: unknown[]) => ({
  type,
  context,
  children_spec: children,
});
const leaf = node(null, null);
const list = (...children: unknown[]) => node('builtins.list', 'null', ...children);
const dict = (keys: unknown[], ...children: unknown[]) => node('builtins.dict', JSON.stringify(keys), ...children);
const text = (root: unknown, protocol = 1) => JSON.stringify([protocol, root]);

test('values become lists of tensors and back', () => {
  balanced(() =>
    torch.scope(() => {
      const [a, b, c] = [torch.ones([1]), torch.ones([2]), torch.ones([3])];
      const tree = parseTree(text(list(leaf, dict(['y', 'x'], leaf, node('builtins.tuple', 'null', leaf, leaf)))));
      const tensors: unknown[] = [];
      flatten(tree, [a, { x: [c, 5], y: b }], 'argument 1', 'fn', tensors);
      expect(tensors).toEqual([a, b, c]); // in the order of the serialized keys; 5 is not a tensor
      expect(unflatten(tree, [1, 2, 3, 4])).toEqual([1, { y: 2, x: [3, 4] }]);
      expect(unflatten(tree, [1, 2, 3])).toBeUndefined();
    }),
  );
});

test('dictionaries of other kinds and with other keys', () => {
  const ordered = node('collections.OrderedDict', '["__proto__"]', leaf);
  const made: any = unflatten(parseTree(text(ordered)), [1]);
  expect(Object.getOwnPropertyDescriptor(made, '__proto__')?.value).toBe(1);
  const byDefault = node('collections.defaultdict', JSON.stringify({ dict_context: ['k'] }), leaf);
  expect(unflatten(parseTree(text(byDefault)), [1])).toEqual({ k: 1 });
  const numbered = parseTree(text(dict([3, 1], leaf, leaf)));
  expect(unflatten(numbered, [1, 2])).toEqual(
    new Map([
      [3, 1],
      [1, 2],
    ]),
  );
  balanced(() =>
    torch.scope(() => {
      const [a, b] = [torch.ones([1]), torch.ones([2])];
      const [ofMap, ofObject]: unknown[][] = [[], []];
      const byNumber = new Map<number, unknown>([
        [1, a],
        [3, b],
      ]);
      flatten(numbered, byNumber, 'argument 1', 'fn', ofMap);
      flatten(numbered, { 1: a, 3: b }, 'argument 1', 'fn', ofObject);
      expect([ofMap, ofObject]).toEqual([
        [b, a],
        [b, a],
      ]);
    }),
  );
  expect(unflatten(parseTree(text(node('some.NamedTuple', '"some.NamedTuple"', leaf, leaf))), [1, 2])).toEqual([1, 2]);
});

test('values that do not fit are refused with their place', () => {
  const tree = parseTree(text(list(leaf, dict(['a', 'b'], leaf, list(leaf)))));
  const refused = (value: unknown) => {
    const error = thrown(() => flatten(tree, value, 'argument 2', 'fn', []));
    expect(error.code).toBe('ERR_TORCH_ARGUMENT');
    return error.message;
  };
  torch.scope(() => {
    const t = torch.ones([1]);
    expect(refused(t)).toContain("argument 'argument 2': expected an array of 2");
    expect(refused([t])).toContain('expected an array of 2, got an array of 1');
    expect(refused([{}, {}])).toContain("'argument 2[0]': expected a Tensor, got an object");
    expect(refused([() => 1, {}])).toContain("'argument 2[0]': expected a Tensor, got a function");
    expect(refused([t, [t]])).toContain("'argument 2[1]': expected an object with a, b");
    expect(refused([t, t])).toContain("'argument 2[1]': expected an object with a, b");
    expect(refused([t, { a: t }])).toContain("'argument 2[1].b': expected a value");
    expect(refused([t, { a: t, b: [t, t] }])).toContain("'argument 2[1].b': expected an array of 1");
    expect(refused([t, { a: t, b: [t], c: t }])).toContain("with only a, b, got an additional 'c'");
  });
});

test('invalid trees are refused', () => {
  const deep = (depth: number) => {
    let root: unknown = leaf;
    for (let i = 0; i < depth; i++) root = list(root);
    return text(root);
  };
  expect(parseTree(deep(150))).not.toBeNull();
  for (const bad of [
    ...['', '{', 'null', '[]', '[1]', '[1, null]', '[1, 5]', text({ type: null })],
    text(leaf, 2),
    text(dict(['a'], leaf, leaf)),
    text(dict([true], leaf)),
    text(node('builtins.dict', '{', leaf)),
    text(node('builtins.dict', null, leaf)),
    deep(250),
  ]) {
    expect(parseTree(bad)).toBeNull();
  }
});
