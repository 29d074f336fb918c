/** torch.load and torch.save: exchange of files with PyTorch, and inconsistent files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { release } from '../support/release';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-torch-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => path.join(folder, name);

async function python(script: string, ...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await python3(['-W', 'ignore', '-c', `import json, sys, torch\n${script}`, ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout || 'null');
}

const DTYPES = [
  ...['bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'],
  ...['complex64', 'complex128'],
];

test('files of Python: state dicts, views of one storage, parameters, every dtype, nested values', async () => {
  await python(
    `
base = torch.arange(12.).view(3, 4)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
value = {
    'model': model.state_dict(), 'base': base, 'turned': base.t(), 'part': base[1:, 2],
    'parameter': torch.nn.Parameter(torch.ones(2)), 'scalar': torch.tensor(5), 'empty': torch.empty(0, 3),
    'dtypes': {str(d)[6:]: torch.tensor([0, 1, 1]).to(d) for d in [${DTYPES.map((d) => `torch.${d}`).join(', ')}]},
    'plain': [1, -1, 2**40, 2**70, -2**63, 1.5, float('inf'), True, None, 'ä', (1, (2,)), [[]], {}, 1 + 2j],
    'numbers': {1: 'one', 2.5: 'two'}, 'size': torch.Size([2, 3]), 'dtype': torch.float16, 'device': torch.device('cpu'),
    'many': list(range(300)), 'name': 'x' * 300, 'set': {1}, 'bytes': [b'', b'a', bytes(range(256))],
}
value['self'] = value['plain']
torch.save(value, sys.argv[1])
`,
    at('python'),
  );
  balanced(() =>
    torch.scope(() => {
      for (const source of [at('python'), readFileSync(at('python'))]) {
        const value = torch.load(source) as any;
        expect(Object.keys(value.model)).toEqual([
          '0.weight',
          '0.bias',
          '1.weight',
          '1.bias',
          '1.running_mean',
          '1.running_var',
          '1.num_batches_tracked',
        ]);
        expect(value.model['0.weight'].shape).toEqual([2, 3]);
        expect(value.turned.toArray()).toEqual([
          [0, 4, 8],
          [1, 5, 9],
          [2, 6, 10],
          [3, 7, 11],
        ]);
        expect(value.part.toArray()).toEqual([6, 10]);
        value.part.add_(100);
        expect(value.base.at(1, 2).item()).toBe(106); // still one storage
        expect([value.parameter.requiresGrad, value.base.requiresGrad]).toEqual([true, false]);
        expect([value.scalar.item(), value.scalar.dtype, value.empty.shape]).toEqual([5, 'int64', [0, 3]]);
        for (const dtype of DTYPES) {
          expect([dtype, value.dtypes[dtype].dtype]).toEqual([dtype, dtype]);
          expect(value.dtypes[dtype].to('float64').toArray()).toEqual([0, 1, 1]);
        }
        expect(value.plain.slice(0, -1)).toEqual([
          1,
          -1,
          2 ** 40,
          2n ** 70n,
          -(2n ** 63n),
          1.5,
          Infinity,
          true,
          null,
          'ä',
          [1, [2]],
          [[]],
          {},
        ]);
        expect(value.plain.at(-1)).toEqual(new torch.Complex(1, 2));
        expect(value.numbers).toEqual(
          new Map<number, string>([
            [1, 'one'],
            [2.5, 'two'],
          ]),
        );
        expect([value.size, value.device, value.many.length, value.name.length]).toEqual([[2, 3], 'cpu', 300, 300]);
        expect(value.set).toEqual(new Set([1]));
        expect(value.bytes).toEqual([[], [97], [...Array(256).keys()]].map((list) => Uint8Array.from(list)));
        expect(value.self).toBe(value.plain);
      }
    }),
  );
});

test('a storage of Python as a value: a tensor of its elements, over the same memory', async () => {
  await python(
    `
t, half, late = torch.arange(12.), torch.ones(3, dtype=torch.float16), torch.arange(8, dtype=torch.uint8)
raw = lambda t: t.untyped_storage() if hasattr(t, 'untyped_storage') else t.storage()._storage
torch.save({
    's': t.storage(), 't': t[2:6], 'nested': [{'x': (t.storage(), half.storage())}], 'flags': (t > 10).storage(),
    'bytes': raw(torch.tensor([1.5])), 'late': late, 'lateBytes': raw(late),
}, sys.argv[1])
torch.save(t.storage(), sys.argv[1] + '.alone')
`,
    at('storage'),
  );
  balanced(() =>
    torch.scope(() => {
      const value = torch.load(at('storage')) as any;
      expect([value.s.dtype, value.s.shape, value.s.sum().item()]).toEqual(['float32', [12], 66]);
      expect(value.nested[0].x[0]).toBe(value.s);
      expect([value.nested[0].x[1].dtype, value.nested[0].x[1].toArray()]).toEqual(['float16', [1, 1, 1]]);
      value.s.narrow(0, 2, 1).fill_(50);
      expect(value.t.toArray()).toEqual([50, 3, 4, 5]);
      expect([value.flags.dtype, value.flags.toArray().at(-1), value.flags.toArray()[0]]).toEqual([
        'bool',
        true,
        false,
      ]);
      expect([value.bytes.dtype, value.bytes.toArray()]).toEqual(['uint8', [0, 0, 0xc0, 0x3f]]);
      value.lateBytes.fill_(7);
      expect(value.late.toArray()).toEqual([7, 7, 7, 7, 7, 7, 7, 7]);
    }),
  );
  balanced(() => {
    const alone = torch.load(readFileSync(at('storage.alone'))) as any;
    expect(alone.toArray()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    alone.dispose();
    const { code, message } = thrown(() => torch.load(at('storage.alone'), { maxTensors: 0 }));
    expect([code, message]).toEqual(['ERR_TORCH_FILE', expect.stringMatching(/maxTensors/)]);
  });
  for (const name of ['storage', 'storage.alone']) rmSync(at(name)); // another test lists the folder
});

test('dtypes without a storage class of their own, both ways', async () => {
  if (release === '1.13') {
    expect(untyped.uint16).toBe(undefined); // it has none of them
    return;
  }
  const later = ['uint16', 'uint32', 'uint64', 'float8_e5m2', 'float8_e4m3fn'];
  await python(
    `
value = {name: torch.tensor([0, 1, 2, 3]).to(getattr(torch, name)) for name in sys.argv[2:]}
torch.save({**value, 'parts': [one[1:3] for one in value.values()]}, sys.argv[1])
`,
    at('later'),
    ...later,
  );
  balanced(() =>
    torch.scope(() => {
      const { parts, ...value } = torch.load(at('later')) as any;
      expect(Object.entries(value).map(([name, one]: any) => [name, one.dtype])).toEqual(
        later.map((name) => [name, name]),
      );
      for (const [n, one] of Object.values(value).entries()) {
        expect((one as any).to('float64').toArray()).toEqual([0, 1, 2, 3]);
        parts[n].copy_(torch.ones([2]));
        expect((one as any).to('float64').toArray()).toEqual([0, 1, 1, 3]); // still one storage
      }
      torch.save({ ...value, parts }, at('later.js'));
    }),
  );
  const read = `
value = torch.load(sys.argv[1], weights_only=True)
parts = value.pop('parts')
print(json.dumps([[[str(one.dtype)[6:], one.to(torch.float64).tolist()] for one in list(value.values()) + parts]]))
`;
  const [told] = await python(read, at('later.js'));
  expect(told).toEqual([...later.map((name) => [name, [0, 1, 1, 3]]), ...later.map((name) => [name, [1, 1]])]);
  for (const name of ['later', 'later.js']) rmSync(at(name)); // another test lists the folder
});

test('Python loads our files, also with weights_only', async () => {
  balanced(() =>
    torch.scope(() => {
      const base = torch.arange(12, { dtype: 'float32' }).view([3, 4]);
      const shared = [1, 'two'];
      const value = {
        base,
        turned: base.t(),
        part: base.narrow(0, 1, 2).select(1, 2),
        leaf: torch.ones([2], { requiresGrad: true }),
        scalar: torch.tensor(5n),
        empty: torch.zeros([0, 3]),
        conjugate: torch.tensor([1]).to('complex64').mul(new torch.Complex(1, 2)).conj(),
        dtypes: Object.fromEntries(DTYPES.map((dtype) => [dtype, torch.tensor([0, 1, 1]).to(dtype as any)])),
        plain: [
          1,
          -1,
          2 ** 40,
          2n ** 70n,
          -(2n ** 63n),
          255n,
          128n,
          -128n,
          0n,
          1.5,
          Infinity,
          -0,
          true,
          null,
          'ä',
          [[]],
          {},
        ],
        numbers: new Map<number, string>([[1, 'one']]),
        shared: [shared, shared],
      };
      torch.save(value, at('here'));
      // PyTorch 1.13's weights_only does not support floating-point numbers.
      torch.save({ ...value, plain: null }, at('weights'));
      expect(readFileSync(at('here')).equals(torch.saveToBuffer(value))).toBe(true);
      const again = torch.load(at('here')) as any;
      expect(again.turned.toArray()).toEqual(value.turned.toArray());
      expect(again.plain).toEqual(
        value.plain.map((v) => (typeof v === 'bigint' && Number.isSafeInteger(Number(v)) ? Number(v) : v)),
      );
      expect(again.shared[0]).toBe(again.shared[1]);
    }),
  );
  const script = `
v = torch.load(sys.argv[1]WEIGHTS)
assert v['base'].tolist() == [[0., 1., 2., 3.], [4., 5., 6., 7.], [8., 9., 10., 11.]]
assert v['turned'].tolist() == v['base'].t().tolist() and v['turned'].stride() == (1, 4)
v['part'][0] = 100
assert v['base'][1, 2] == 100 and v['base'].data_ptr() == v['turned'].data_ptr()
assert v['leaf'].requires_grad and not v['base'].requires_grad
assert v['scalar'].dtype == torch.int64 and v['scalar'].item() == 5 and list(v['empty'].shape) == [0, 3]
assert v['conjugate'].tolist() == [1 - 2j]
for name, t in v['dtypes'].items(): assert str(t.dtype) == 'torch.' + name and t.to(torch.float64).tolist() == [0, 1, 1], name
if v['plain'] is not None: assert v['plain'] == [1, -1, 2**40, 2**70, -2**63, 255, 128, -128, 0, 1.5, float('inf'), 0, True, None, 'ä', [[]], {}]
assert v['plain'] is None or str(v['plain'][11]) == '-0.0'
assert v['numbers'] == {1: 'one'} and v['shared'][0] is v['shared'][1]
print(1)
`;
  expect(await python(script.replace('WEIGHTS', ''), at('here'))).toBe(1);
  expect(await python(script.replace('WEIGHTS', ', weights_only=True'), at('weights'))).toBe(1);
  expect(readdirSync(folder).sort()).toEqual(['here', 'python', 'weights']);
});

test('tensors of two dtypes in one memory are refused, as Python does', () => {
  balanced(() =>
    torch.scope(() => {
      const value = torch.ones([2]);
      expect(() => torch.saveToBuffer({ value, bits: untyped.ops.aten.view.dtype(value, 'int32') })).toThrow(
        expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT', argument: 'value.bits' }),
      );
    }),
  );
});

describe('refused files', () => {
  const cases: [string, string, RegExp][] = [
    ['a class of the program', 'class C: pass\nv = C()', /__main__\.C is not among the names/],
    [
      'a function',
      'import os\nclass C:\n  def __reduce__(self): return (os.system, ("touch " + sys.argv[1] + ".run",))\nv = C()',
      /(posix|os)\.system is not among the names/,
    ],
    ['eval', 'class C:\n  def __reduce__(self): return (eval, ("1",))\nv = C()', /eval is not among the names/],
    [
      'bytes in another encoding',
      'import codecs\nclass C:\n  def __reduce__(self): return (codecs.encode, ("a", "rot13"))\nv = C()',
      /not bytes as text in latin1/,
    ],
    ['a whole model', 'v = torch.nn.Linear(2, 2)', /torch\.nn\.modules\.linear\.Linear is not among the names/],
  ];
  test.each(cases)('%s', async (name, script, message) => {
    const file = at(name.replaceAll(' ', '-'));
    await python(`${script}\ntorch.save({'v': v, 't': torch.ones(3)}, sys.argv[1])`, file);
    balanced(() => {
      const error = thrown(() => torch.load(file));
      expect([error.code, error.message]).toEqual(['ERR_TORCH_FILE', expect.stringMatching(message)]);
    });
    expect(readdirSync(folder).filter((entry) => entry.endsWith('.run'))).toEqual([]);
  });

  test('truncated anywhere, and any byte changed: an error or the same tensors, never anything else', async () => {
    const whole = torch.scope(() => torch.saveToBuffer({ a: torch.arange(6), list: [1, 'x', [2.5]] }));
    const expected = torch.scope(() => JSON.stringify((torch.load(whole) as any).a.toArray()));
    const outcomes = { refused: 0, same: 0, other: [] as number[] };
    const attempt = (bytes: Buffer, position: number) => {
      torch.scope(() => {
        try {
          const value = torch.load(bytes) as any;
          if (JSON.stringify(value.a?.toArray()) === expected) outcomes.same++;
          else outcomes.other.push(position);
        } catch (error) {
          if ((error as any).code !== 'ERR_TORCH_FILE') outcomes.other.push(position);
          outcomes.refused++;
        }
      });
    };
    balanced(() => {
      for (let length = 0; length < whole.length; length += 7) attempt(whole.subarray(0, length), length);
      for (let i = 0; i < whole.length; i += 3) {
        const changed = Buffer.from(whole);
        changed[i] = changed[i]! ^ (1 << (i % 8));
        attempt(changed, i);
      }
    });
    expect(outcomes.other).toEqual([]);
    expect(outcomes.refused).toBeGreaterThan(100);
  });

  test('a storage that is too small, or of two dtypes, or missing', () => {
    balanced(() => {
      const bytes = torch.scope(() => torch.saveToBuffer({ a: torch.ones([4]) }));
      const { ZipReader } = require('../../dist/lib/files/zip.js');
      const { ZipWriter } = require('../../dist/lib/files/zip-writer.js');
      const rewrite = (name: string, change: (bytes: Uint8Array) => Uint8Array | undefined) => {
        const zip = new ZipReader(
          { size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) },
          Error,
        );
        const parts: Uint8Array[] = [];
        const writer = new ZipWriter({ put: (part: Uint8Array) => parts.push(part) });
        for (const entry of zip.entries.values()) {
          const data = entry.name === name ? change(zip.data(entry)) : zip.data(entry);
          if (data !== undefined) writer.add(entry.name, data);
        }
        writer.end();
        return Buffer.concat(parts);
      };
      const refusal = (name: string, change: (bytes: Uint8Array) => Uint8Array | undefined) =>
        thrown(() => torch.load(rewrite(name, change))).message;
      expect(refusal('archive/data/0', () => new Uint8Array(8))).toMatch(
        /storage 0: expected 4 elements of 4 bytes, got 8 bytes/,
      );
      expect(refusal('archive/data/0', () => undefined)).toMatch(/storage 0 is missing/);
      expect(refusal('archive/data.pkl', () => undefined)).toMatch(/no data\.pkl/);
      expect(refusal('archive/byteorder', () => Buffer.from('big'))).toMatch(/byte order/);
      const pickled = (from: string, to: string) => (data: Uint8Array) =>
        Buffer.from(Buffer.from(data).toString('latin1').replace(from, to), 'latin1');
      // The tensor's size, 4 as a 32-bit integer in the tuple after the offset.
      expect(refusal('archive/data.pkl', pickled('(J\x04\x00\x00\x00t', '(J\x05\x00\x00\x00t'))).toMatch(
        /exceeds its storage/,
      );
      expect(refusal('archive/data.pkl', pickled('FloatStorage', 'LongStorage\x20'))).toMatch(/not among the names/);
      expect(
        refusal('archive/data.pkl', () =>
          Buffer.from('\x80\x02' + ']'.repeat(200_000) + 'a'.repeat(199_999) + '.', 'latin1'),
        ),
      ).toMatch(/levels of nesting/);
    });
  });

  test('wrong arguments, and values that such a file cannot contain', () => {
    balanced(() => {
      expect(thrown(() => torch.load(at('missing'))).code).toBe('ENOENT');
      for (const wrong of [5, null, new Float32Array(2)])
        expect(codeOf(() => untyped.load(wrong))).toBe('ERR_TORCH_ARGUMENT');
      for (const wrong of [undefined, () => {}, Symbol('x'), new Date(), new Uint8Array(2)]) {
        const error = thrown(() => torch.saveToBuffer({ deep: [wrong] }));
        expect([error.code, error.message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringContaining('value.deep[0]')]);
      }
      const layer = new torch.nn.Linear(1, 1);
      expect(thrown(() => torch.saveToBuffer({ layer })).message).toMatch(/got a Linear; save its stateDict\(\)$/);
      layer.dispose();
      torch.scope(() => {
        const gone = torch.ones([1]);
        gone.dispose();
        expect(codeOf(() => torch.save({ gone }, at('gone')))).toBe('ERR_TORCH_DISPOSED');
        expect(codeOf(() => torch.save({ t: torch.eye(2).toSparse() }, at('gone')))).toBe('ERR_TORCH_ARGUMENT');
      });
      expect(readdirSync(folder)).not.toContain('gone');
    });
  });
});
