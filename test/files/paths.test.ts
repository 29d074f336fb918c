/** Paths: file URLs as in Node, and the order of a saver's arguments. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { balanced, thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-paths ä#?%-')); // characters that a URL must encode
});
afterAll(() => fs.rmSync(folder, { recursive: true }));
const at = (name: string) => path.join(folder, name);

/** Each format: save(value, path), load(path), and a value to save. */
const formats: [string, any, string, (t: any) => unknown, (value: any) => any][] = [
  ['torch', untyped, 'a.pt', (t) => ({ a: t }), ({ a }) => a],
  ['safetensors', untyped.safetensors, 'a.safetensors', (t) => ({ a: t }), ({ a }) => a],
  ['npy', untyped.npy, 'a.npy', (t) => t, (t) => t],
  ['npz', untyped.npz, 'a.npz', (t) => ({ a: t }), ({ a }) => a],
];

test.each(formats)('%s: URLs, and both orders of the arguments of save', (_, space, name, value, tensorOf) => {
  const ways: [string, (t: any, file: string) => void][] = [
    ['value, path', (t, file) => space.save(value(t), file)],
    ['path, value', (t, file) => space.save(file, value(t))],
    ['value, URL', (t, file) => space.save(value(t), pathToFileURL(file))],
    ['URL, value', (t, file) => space.save(pathToFileURL(file), value(t))],
  ];
  balanced(() =>
    torch.scope(() => {
      for (const [i, [way, save]] of ways.entries()) {
        save(torch.tensor([i]), at(name));
        for (const from of [at(name), pathToFileURL(at(name))]) {
          expect([way, tensorOf(space.load(from)).tolist()]).toEqual([way, [i]]);
        }
      }
      // Two paths: the documented order. Only torch.save can save a text.
      const error = thrown(() => untyped.safetensors.save(at('x'), at('y')));
      expect([error.code, error.message]).toEqual([
        'ERR_TORCH_ARGUMENT',
        expect.stringMatching(/^safetensors\.save: argument 'tensors': expected an object of Tensors by name, got '/),
      ]);
    }),
  );
  expect(fs.readdirSync(folder).filter((entry) => !entry.startsWith('a.'))).toEqual([]);
});

test('torch.save of a text: the second argument is the path', () => {
  torch.save('b.pt', at('a.pt'));
  expect(torch.load(at('a.pt'))).toBe('b.pt');
});

test('safetensors.open and metadata with a URL', () => {
  torch.scope(() => {
    torch.safetensors.save({ a: torch.ones([2]) }, pathToFileURL(at('m')), { metadata: { k: 'v' } });
    const file = torch.safetensors.open(pathToFileURL(at('m')));
    expect([file.metadata, file.get('a').tolist()]).toEqual([{ k: 'v' }, [1, 1]]);
    file.close();
  });
  fs.rmSync(at('m'));
});

const calls: [string, (place: any) => unknown][] = [
  ["load: argument 'source'", (place) => torch.load(place)],
  ["save: argument 'path'", (place) => torch.save({}, place)],
  ["safetensors.load: argument 'source'", (place) => torch.safetensors.load(place)],
  ["safetensors.open: argument 'path'", (place) => torch.safetensors.open(place)],
  ["safetensors.save: argument 'path'", (place) => torch.safetensors.save({}, place)],
  ["npy.load: argument 'source'", (place) => torch.npy.load(place)],
  ["npy.save: argument 'path'", (place) => untyped.npy.save(torch.ones([1]), place)],
  ["npz.load: argument 'source'", (place) => torch.npz.load(place)],
  ["npz.save: argument 'path'", (place) => torch.npz.save({}, place)],
  ["jit.load: argument 'source'", (place) => torch.jit.load(place)],
  ["inductor.aotiLoadPackage: argument 'path'", (place) => torch.inductor.aotiLoadPackage(place)],
];

test.each(calls)('%s: values that are not paths', (start, call) => {
  const expected = start.includes('source') ? 'a path or a Uint8Array' : 'a path or a file: URL';
  const places: [unknown, string][] = [
    [new URL('https://example.org/a.pt'), "a path or a file: URL, got 'https://example.org/a.pt': "],
    [new URL('file://host/a.pt'), "a path or a file: URL, got 'file://host/a.pt': "],
    [new URL('file:///a%2Fb.pt'), "a path or a file: URL, got 'file:///a%2Fb.pt': "],
    ['a\0b', 'a path or a file: URL, got a null byte in it'],
    [new URL('file:///a%00b'), 'a path or a file: URL, got a null byte in it'],
    [5, `${expected}, got 5`],
    [null, `${expected}, got null`],
    [undefined, `${expected}, got undefined`],
    [{ href: 'file:///a', protocol: 'file:' }, `${expected}, got an object`],
  ];
  for (const [place, message] of places) {
    const error = thrown(() => torch.scope(() => call(place)));
    expect([error.code, error.argument, error.message.slice(0, `${start}: expected ${message}`.length)]).toEqual([
      'ERR_TORCH_ARGUMENT',
      /'(.*)'/.exec(start)![1],
      `${start}: expected ${message}`,
    ]);
  }
});
