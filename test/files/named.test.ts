/** What safetensors and npz take as tensors by name: a value that has none is not saved as nothing. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-named-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const saves: [name: string, save: (tensors: unknown) => unknown][] = [
  ['safetensors.save', (tensors) => untyped.safetensors.save(tensors, path.join(folder, 'x'))],
  ['safetensors.serialize', (tensors) => untyped.safetensors.serialize(tensors)],
  ['safetensors.saveToStream', (tensors) => untyped.safetensors.saveToStream(tensors)],
  ['npz.save', (tensors) => untyped.npz.save(tensors, path.join(folder, 'x'))],
  ['npz.saveToStream', (tensors) => untyped.npz.saveToStream(tensors)],
];

test.each(saves)('%s refuses what has no tensors by name', (fn, save) => {
  torch.scope(() => {
    const x = torch.ones([1]);
    const generator = (function* () {
      yield x;
    })();
    for (const value of [
      new Map([['x', x]]),
      new Set([x]),
      Promise.resolve({ x }),
      new Date(),
      generator,
      new WeakMap(),
    ]) {
      const { code, message } = thrown(() => save(value));
      expect([code, message]).toEqual([
        'ERR_TORCH_ARGUMENT',
        expect.stringMatching(`^${fn}: argument 'tensors': expected an object of Tensors`),
      ]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('an object of a class, one without a prototype and an empty one are saved', () => {
  torch.scope(() => {
    class State {
      x = torch.ones([1]);
    }
    const file = path.join(folder, 'x');
    const loads: Record<string, (saved: unknown) => object> = {
      'safetensors.save': () => untyped.safetensors.load(file),
      'safetensors.serialize': (saved) => untyped.safetensors.load(saved),
      'npz.save': () => untyped.npz.load(file),
    };
    for (const [name, save] of saves) {
      for (const value of [new State(), Object.assign(Object.create(null), { x: torch.ones([1]) }), {}]) {
        const saved = save(value);
        const loaded = loads[name]?.(saved);
        if (loaded !== undefined) expect([name, Object.keys(loaded)]).toEqual([name, Object.keys(value)]);
      }
    }
  });
  rmSync(path.join(folder, 'x'));
});

test('a name that the file would have as another one', () => {
  torch.scope(() => {
    const tensors = { 'a\ud800': torch.ones([1]) };
    for (const [fn, save] of saves) {
      const { code, message } = thrown(() => save(tensors));
      expect([code, message]).toEqual([
        'ERR_TORCH_ARGUMENT',
        `${fn}: argument 'tensors': expected names of Unicode text, got 'a\ud800' with half a pair`,
      ]);
    }
    const long = thrown(() => saves[3]![1]({ ['x'.repeat(65_532)]: torch.ones([1]) }));
    expect([long.code, long.message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching("^npz.save: argument 'tensors': expected names of at most 65531 bytes, got one of 65532: "),
    ]);
    saves[3]![1]({ ['x'.repeat(65_531)]: torch.ones([1]) });
  });
});

test('metadata that has no strings by name', () => {
  torch.scope(() => {
    const x = torch.ones([1]);
    for (const metadata of [new Map([['format', 'pt']]), new Date(), Promise.resolve({}), null]) {
      const { code, message } = thrown(() => untyped.safetensors.serialize({ x }, { metadata }));
      expect(code).toBe('ERR_TORCH_ARGUMENT');
      expect(message).toMatch("argument 'metadata': expected an object of strings, got ");
    }
    expect(thrown(() => torch.safetensors.serialize({ x }, { metadata: { a: '\udc00' } })).code).toBe(
      'ERR_TORCH_ARGUMENT',
    );
  });
});
