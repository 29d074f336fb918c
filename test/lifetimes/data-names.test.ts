/** Names in files are data: a dictionary with a key of the library's own objects is still a dictionary. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { balanced, settled, torch, untyped } from '../support/torch';

/** Properties of tensors, models, tokens, promises and other special objects. */
const NAMES = [
  '_token',
  '_handle',
  '_mark',
  '_guard',
  '_class',
  '_below',
  '_undo',
  'then',
  'dispose',
  'close',
  'disposed',
  'toJSON',
  'constructor',
  'prototype',
  '__proto__',
  'hasOwnProperty',
  'shared',
  'recorder',
  'next',
  'length',
  'libtorch-node.tensors',
];

type Tensor = ReturnType<typeof torch.ones>;
type Dictionary = Record<string, Tensor>;

function dictionary(names: readonly string[] = NAMES): Dictionary {
  const object: Dictionary = {};
  for (const [i, name] of names.entries()) {
    Object.defineProperty(object, name, {
      value: torch.full([2], i),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}

/** First elements by the names of own properties; a disposed tensor throws. */
const content = (of: Dictionary): Map<string, unknown> =>
  new Map(Object.entries(of).map(([name, tensor]) => [name, torch.scope(() => tensor.select(0, 0).item())]));
const expected = new Map(NAMES.map((name, i) => [name, i]));

let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'names-'));
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

function roundTrip(name: string, write: (file: string, value: Dictionary) => void, read: (file: string) => unknown) {
  const file = path.join(folder, name);
  const before = settled();
  torch.scope(() => write(file, dictionary()));
  torch.scope(() => {
    const all = read(file) as Dictionary;
    expect(content(all)).toEqual(expected);
    // As the result of a scope, in keep and in disposeAll.
    const out = torch.scope(() => read(file) as Dictionary);
    expect(content(out)).toEqual(expected);
    expect(content(torch.keep(out))).toEqual(expected);
    torch.disposeAll(out);
    expect(NAMES.map((key) => Object.getOwnPropertyDescriptor(out, key)!.value.disposed)).toEqual(
      NAMES.map(() => true),
    );
  });
  expect(settled()).toEqual(before);
}

test('torch.save and torch.load', () => {
  roundTrip(
    'all.pt',
    (file, value) => torch.save(value, file),
    (file) => torch.load(file),
  );
});

test('safetensors', () => {
  roundTrip(
    'all.safetensors',
    (file, value) => torch.safetensors.save(file, value),
    (file) => torch.safetensors.load(file),
  );
});

test('npz', () => {
  roundTrip(
    'all.npz',
    (file, value) => torch.npz.save(file, value),
    (file) => torch.npz.load(file),
  );
});

test('one such key among others', () => {
  balanced(() => {
    for (const name of NAMES) {
      const bytes = torch.scope(() => torch.saveToBuffer(dictionary(['a', name])));
      const loaded = torch.load(bytes) as Dictionary;
      expect([...content(loaded).values()]).toEqual([0, 1]);
      torch.disposeAll(loaded);
    }
  });
});

test('an awaited value, or one in an error message, is not identified by its keys', async () => {
  const value = torch.scope(() => dictionary(['then', 'constructor', '_describe']));
  expect(await Promise.resolve(value)).toBe(value);
  expect(await torch.scope(async () => value)).toBe(value);
  expect(() => untyped.zeros([2], value)).toThrow(Error);
  expect(() => untyped.add(value, 1)).toThrow('got an object');
  expect(() => untyped.relu(value)).toThrow('no overload fits ({ then, constructor, _describe })');
  torch.disposeAll(value);
});

test('objects of the library are identified by their class, not by their keys', () => {
  balanced(() => {
    // A generator does not have a tensor; a copy of its properties is not an object of the library.
    const generator = new torch.Generator();
    expect(torch.scope(() => ({ generator, copy: { ...generator } })).generator).toBe(generator);
    torch.disposeAll([generator]);
    expect(generator.disposed).toBe(false);
    generator.dispose();
  });
});
