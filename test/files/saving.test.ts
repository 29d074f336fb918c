/** torch.save writes storages from their own memory: the bytes of the file, its checksums, and writes that fail. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { python3 } from '../support/python3';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-saving-'));
});
afterAll(() => fs.rmSync(folder, { recursive: true }));
const at = (name: string) => path.join(folder, name);

/** More than one part of native code's, and not a whole number of them. */
const LARGE = 300_001;

/** What Python's zip module and PyTorch say of a file. */
async function python(file: string): Promise<{ bad: string | null; offsets: number[]; sums: number[] }> {
  const program = `
import json, struct, sys, zipfile, torch
file = zipfile.ZipFile(sys.argv[1])
def start(entry):
    with open(sys.argv[1], 'rb') as raw:
        raw.seek(entry.header_offset + 26)
        return entry.header_offset + 30 + sum(struct.unpack('<HH', raw.read(4)))
state = torch.load(sys.argv[1], weights_only=True)
print(json.dumps({
    'bad': file.testzip(),
    'offsets': [start(entry) % 64 for entry in file.infolist()],
    'sums': [value.double().sum().item() for value in state.values()],
}))`;
  return told(program, file);
}

async function told(program: string, file: string): Promise<any> {
  const { code, stdout, stderr } = await python3(['-W', 'ignore', '-c', program, file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

test('nothing is copied to JavaScript; Python finds every checksum right and each record aligned', async () => {
  const { native } = require(path.join(LIB, 'addon/native.js'));
  const copy = native.copyInto;
  balanced(() =>
    torch.scope(() => {
      const state = {
        large: torch.arange(LARGE, { dtype: 'float64' }),
        turned: torch.arange(6).view([2, 3]).t(),
        empty: torch.empty([0]),
        small: torch.tensor([1.5]),
      };
      native.copyInto = () => {
        throw new Error('copied');
      };
      try {
        torch.save(state, at('state.pt'));
      } finally {
        native.copyInto = copy;
      }
      expect(fs.readFileSync(at('state.pt')).equals(torch.saveToBuffer(state))).toBe(true);
      torch.npz.save({ large: state.large, turned: state.turned }, at('arrays.npz'));
      const back = torch.npz.load(at('arrays.npz'));
      expect(back.large!.equal(state.large)).toBe(true);
      expect(back.turned!.toArray()).toEqual(state.turned.toArray());
    }),
  );
  const { bad, offsets, sums } = await python(at('state.pt'));
  expect({ bad, sums }).toEqual({ bad: null, sums: [(LARGE * (LARGE - 1)) / 2, 15, 0, 1.5] });
  expect(new Set(offsets)).toEqual(new Set([0]));
});

test('a conjugate, zeros of autograd and a part of a storage', () => {
  torch.scope(() => {
    const z = torch.complex(torch.ones([3]), torch.full([3], 2));
    const part = torch.arange(10).narrow(0, 2, 3);
    torch.safetensors.save({ part, zeros: untyped._efficientzerotensor([4]) }, at('x.safetensors'));
    const read = torch.safetensors.load(at('x.safetensors'));
    expect([read.part!.toArray(), read.zeros!.toArray()]).toEqual([
      [2, 3, 4],
      [0, 0, 0, 0],
    ]);
    torch.save({ zeros: untyped._efficientzerotensor([4]) }, at('zeros.pt'));
    expect((torch.load(at('zeros.pt')) as any).zeros.toArray()).toEqual([0, 0, 0, 0]);
    torch.npy.save(z.conj(), at('z.npy'));
    expect(torch.npy.load(at('z.npy')).imag().toArray()).toEqual([-2, -2, -2]);
  });
});

test('a write that fails is an error of Node; the old file stays, and no other', async () => {
  const program = `
    const torch = require(${JSON.stringify(LIB)});
    try {
      torch.save({ x: torch.ones([1 << 20]) }, ${JSON.stringify(at('kept.pt'))});
    } catch ({ code, syscall, path }) {
      console.log(code, syscall, path);
    }`;
  torch.scope(() => torch.save(torch.tensor(7), at('kept.pt')));
  const before = fs.readdirSync(folder).sort();
  // At most 1 MiB per file, and no signal for a larger one.
  const limited = `trap '' XFSZ; ulimit -f 1024; exec "$0" -e "$1"`;
  const { stdout } = await run('/bin/bash', ['-c', limited, process.execPath, program]);
  expect(stdout.trim()).toBe(`EFBIG write ${at('kept.pt')}`);
  expect(fs.readdirSync(folder).sort()).toEqual(before);
  torch.scope(() => expect((torch.load(at('kept.pt')) as any).item()).toBe(7));
});

test('a tensor that another thread changes meanwhile is saved with a checksum that fits', async () => {
  const program = `
    const { Worker, isMainThread, workerData } = require('node:worker_threads');
    const torch = require(${JSON.stringify(LIB)});
    if (isMainThread) {
      const x = torch.zeros([4 << 20]);
      const worker = new Worker(__filename, { workerData: x.share() });
      worker.once('message', () => {
        for (let i = 0; i < 10; i++) torch.save({ x }, ${JSON.stringify(at('racing.pt'))} + i);
        worker.terminate();
      });
    } else {
      const x = torch.fromShared(workerData);
      require('node:worker_threads').parentPort.postMessage('started');
      for (;;) x.add_(1);
    }`;
  fs.writeFileSync(at('racing.cjs'), program);
  const { code, stderr } = await run(process.execPath, [at('racing.cjs')]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (let i = 0; i < 10; i++) {
    torch.scope(() => expect((torch.load(at(`racing.pt${i}`)) as any).x.shape).toEqual([4 << 20]));
  }
});

test('keys that Python cannot hash are refused', () => {
  for (const key of [new Map([[1, 2]]), { a: 1 }, [[1], { a: 1 }]]) {
    const error = thrown(() => torch.save({ made: new Map<unknown, number>([[key, 3]]) }, at('unhashable')));
    expect([error.code, error.message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(
        /^save: argument 'value\.made \(a key\)(\[1\])?': expected a key that Python can hash, got a/,
      ),
    ]);
  }
  expect(fs.existsSync(at('unhashable'))).toBe(false);
});

test('a Set is a set for Python, and comes back as one', async () => {
  const inner = [1, [2]];
  const tags = new Set<unknown>(['a', 1.5, inner, 2n]);
  torch.save({ tags, again: tags, list: inner, none: new Set() }, at('sets'));
  await told(
    `
import json, sys, torch
v = torch.load(sys.argv[1])
assert v == {'tags': {'a', 1.5, (1, (2,)), 2}, 'again': v['tags'], 'list': [1, [2]], 'none': set()}, v
assert v['again'] is v['tags'], v
torch.save(v, sys.argv[1] + '.python')
print(json.dumps('saved'))
`,
    at('sets'),
  );
  for (const file of [at('sets'), at('sets.python')]) {
    const value = torch.load(file) as any;
    expect([...value.tags].map(String).sort()).toEqual(['1,2', '1.5', '2', 'a']);
    expect(value).toMatchObject({ list: [1, [2]], none: new Set() });
    expect(value.again).toBe(value.tags);
  }
});

test('values of a Set that Python cannot hash are refused', () => {
  for (const one of [new Map([[1, 2]]), {}, [[1], { a: 1 }], new Set([1])]) {
    const error = thrown(() => torch.save({ made: new Set<unknown>([one]) }, at('unhashable')));
    expect([error.code, error.message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(
        /^save: argument 'value\.made \(in a set\)(\[1\])?': expected a value that Python can hash, got a/,
      ),
    ]);
  }
  for (const one of [new Proxy(new Map(), {}), new Proxy(new Set(), {}), Object.create(Map.prototype)]) {
    expect(codeOf(() => torch.save({ made: one }, at('unhashable')))).toBe('ERR_TORCH_ARGUMENT');
  }
  const self = new Set<unknown>();
  self.add(self);
  expect(codeOf(() => torch.save(self, at('unhashable')))).toBe('ERR_TORCH_ARGUMENT');
  expect(fs.existsSync(at('unhashable'))).toBe(false);
});

test('text with lone surrogates is refused: two keys would become one', () => {
  const error = thrown(() => torch.save({ a: { '\ud800': 1, '\ud801': 2 } }, at('surrogates')));
  expect([error.code, error.message]).toEqual([
    'ERR_TORCH_ARGUMENT',
    expect.stringMatching(/^save: argument 'value\.a \(a key\)': expected text without lone surrogates, got /),
  ]);
  torch.save({ 𝒳é: 1 }, at('pairs'));
  expect(torch.load(at('pairs'))).toEqual({ 𝒳é: 1 });
});

test('array keys of a Map are tuples for Python, also the same array that is a list elsewhere', async () => {
  const pair = [1, 2];
  const inner = [5];
  const value = {
    list: pair,
    map: new Map<unknown, string>([
      [pair, 'pair'],
      [['a', [pair, inner], inner], 'deep'],
      [[], 'empty'],
    ]),
    again: [new Map([[pair, 1]]), pair, inner],
  };
  torch.save(value, at('keys'));
  const answer = await told(
    `
import json, sys, torch
v = torch.load(sys.argv[1])
assert v['map'] == {(1, 2): 'pair', ('a', ((1, 2), (5,)), (5,)): 'deep', (): 'empty'}, v
assert v['list'] == [1, 2] and v['again'] == [{(1, 2): 1}, [1, 2], [5]] and v['again'][1] is v['list'], v
torch.save(v, sys.argv[1])
torch.load(sys.argv[1], weights_only=True)
print(1)
`,
    at('keys'),
  );
  expect(answer).toBe(1);
  expect(torch.load(at('keys'))).toEqual(value);
  expect(torch.load(torch.saveToBuffer(value))).toEqual(value);
  fs.rmSync(at('keys'));
});

test('numbers that are not safe integers are floats, and bigint values integers', async () => {
  const numbers = [Number.MAX_VALUE, 1e20, -(2 ** 53), 2 ** 53, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER];
  const value = { numbers, big: [2n ** 53n, 10n ** 20n], keys: new Map([[1e20, 1]]) };
  torch.save(value, at('numbers'));
  expect(torch.load(at('numbers'))).toEqual(value);
  expect(torch.load(torch.saveToBuffer(value))).toEqual(value);
  expect(await torch.loadFromStream(torch.saveToStream(value))).toEqual(value);
  const answer = await told(
    `
import json, sys, torch
v = torch.load(sys.argv[1])
print(json.dumps([[type(n).__name__ for n in v['numbers'] + v['big']], v['big'] == [2**53, 10**20]]))
`,
    at('numbers'),
  );
  expect(answer).toEqual([['float', 'float', 'float', 'float', 'int', 'int', 'int', 'int'], true]);
  fs.rmSync(at('numbers'));
});

test('values nested too deeply are refused, and the deepest that are written are read', () => {
  const nested = (levels: number, innermost: unknown[] = []) => {
    let value = innermost;
    for (let i = 1; i < levels; i++) value = [value];
    return value;
  };
  const cycle: unknown[] = [];
  cycle.push(cycle);
  balanced(() => {
    expect(torch.load(torch.saveToBuffer(nested(1000)))).toHaveLength(1);
    torch.scope(() => void torch.load(torch.saveToBuffer(nested(999, [torch.ones([1])]))));
    const deep = new Map([[nested(3000), 1]]);
    for (const value of [nested(1001), nested(3000), nested(100_000), deep, new Map([[cycle, 1]])]) {
      const { code, message } = thrown(() => torch.saveToBuffer(value));
      expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringMatching(/expected at most 1000 levels/)]);
    }
    torch.scope(() => {
      const deepTensor = nested(1000, [torch.ones([1])]);
      expect(codeOf(() => torch.saveToBuffer(deepTensor))).toBe('ERR_TORCH_ARGUMENT');
    });
    expect(torch.load(torch.saveToBuffer(cycle))).toHaveLength(1); // a list may contain itself
  });
});

test('more tensors than the reader allows gaps between its memo indices', () => {
  balanced(() =>
    torch.scope(() => {
      const base = torch.arange(4);
      const many = Array.from({ length: 70_000 }, () => base.view([4]));
      expect(torch.load(torch.saveToBuffer(many))).toHaveLength(70_000);
    }),
  );
});

test('the error for a disposed tensor says where it is', () => {
  const gone = torch.ones([2]);
  gone.dispose();
  const texts = [
    () => torch.saveToBuffer({ layers: [{ weight: gone }] }),
    () => torch.safetensors.save({ weight: gone }, at('gone.safetensors')),
    () => torch.npz.save({ weight: gone }, at('gone.npz')),
  ].map((save) => (thrown(save) as Error).message);
  expect(texts).toEqual([
    "saveToBuffer: argument 'value.layers[0].weight': the tensor was disposed",
    "safetensors.save: argument 'tensors.weight': the tensor was disposed",
    "npz.save: argument 'tensors.weight': the tensor was disposed",
  ]);
  expect(fs.readdirSync(folder).filter((name) => name.startsWith('gone'))).toEqual([]);
});

test('each tensor is compared with the storages before it by one call', () => {
  const { native } = require(path.join(LIB, 'addon/native.js'));
  const spies = Object.keys(native)
    .filter((name) => typeof native[name] === 'function')
    .map((name) => jest.spyOn(native, name));
  /** Calls of native functions for so many tensors, of which every other one shares its storage. */
  const calls = (count: number) =>
    torch.scope(() => {
      const state: Record<string, unknown> = {};
      for (let i = 0; i < count; i += 2) {
        const tensor = torch.zeros([2]);
        Object.assign(state, { [`a${i}`]: tensor, [`b${i}`]: tensor.detach() });
      }
      for (const spy of spies) spy.mockClear();
      torch.saveToBuffer(state);
      return spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    });
  try {
    const [few, many] = [calls(100), calls(400)];
    expect(few).toBeGreaterThan(100);
    expect(many / few).toBeLessThan(4.1);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});
