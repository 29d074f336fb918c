/** torch.safetensors: round trips, exchange with Python, mapped files without a copy, and checked headers. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { ask } from '../support/child';
import { python3 } from '../support/python3';
import { expectResident } from '../support/sanitized';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const { safetensors } = torch;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-safetensors-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => path.join(folder, name);

const DTYPES = [
  ...['bool', 'uint8', 'int8', 'int16', 'int32', 'int64'],
  ...['float16', 'bfloat16', 'float32', 'float64', 'complex64'],
] as const;

/** One of each dtype, and shapes that are easy to get wrong. */
function many(): Record<string, any> {
  const base = torch.tensor([
    [0, 1, -2.5],
    [100, 3, 0],
  ]);
  const all: Record<string, any> = Object.fromEntries(DTYPES.map((dtype) => [`of.${dtype}`, base.abs().to(dtype)]));
  all.scalar = torch.tensor(2.5);
  all.empty = torch.zeros([0, 3], { dtype: 'int64' });
  all.turned = base.t();
  all.part = base.select(1, 1);
  all.conjugate = base.to('complex64').mul(new torch.Complex(1, 2)).conj();
  all.spread = torch.tensor([7n]).expand([4]);
  all['名 "前"\n'] = torch.tensor([1n]);
  return all;
}

const plain = (tensors: Record<string, any>) =>
  Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, [t.dtype, t.shape, t.toArray()]]));

test('round trips: every dtype, scalars, empty ones, views, through a file and through bytes', () => {
  balanced(() =>
    torch.scope(() => {
      const tensors = many();
      const metadata = { format: 'pt', note: 'ä "x"' };
      const bytes = safetensors.serialize(tensors, { metadata });
      safetensors.save(at('many'), tensors, { metadata });
      expect(readFileSync(at('many')).equals(bytes)).toBe(true);
      expect(plain(safetensors.load(bytes))).toEqual(plain(tensors));
      expect(plain(safetensors.load(at('many')))).toEqual(plain(tensors));
      // Saving again gives the same bytes.
      expect(safetensors.serialize(safetensors.load(bytes), { metadata }).equals(bytes)).toBe(true);
      // Bytes in memory at an odd address.
      const odd = new Uint8Array(bytes.length + 1);
      odd.set(bytes, 1);
      expect(plain(safetensors.load(odd.subarray(1)))).toEqual(plain(tensors));
    }),
  );
  expect(readdirSync(folder)).toEqual(['many']);
});

test('the data is aligned, and the header is that of the format’s own library', () => {
  torch.scope(() => {
    const bytes = safetensors.serialize({ b: torch.ones([2]), a: torch.ones([1], { dtype: 'int64' }) });
    const text =
      '{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}';
    const length = Number(bytes.readBigUInt64LE());
    expect(length % 8).toBe(0);
    expect(bytes.subarray(8, 8 + length).toString()).toBe(text.padEnd(length));
    expect(bytes.length).toBe(8 + length + 16);
  });
});

test('Python reads our files, and we read Python’s', async () => {
  const script = `
import json, struct, sys, torch
names = {'BOOL': torch.bool, 'U8': torch.uint8, 'I8': torch.int8, 'I16': torch.int16, 'I32': torch.int32, 'I64': torch.int64,
         'F16': torch.float16, 'BF16': torch.bfloat16, 'F32': torch.float32, 'F64': torch.float64, 'C64': torch.complex64}
data = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', data[:8])[0]
header = json.loads(data[8:8 + n])
out, blobs, offset = {}, [], 0
for name, e in header.items():
    if name == '__metadata__': continue
    begin, end = e['data_offsets']
    part = bytearray(data[8 + n + begin:8 + n + end])
    t = torch.frombuffer(part, dtype=names[e['dtype']]).reshape(e['shape']) if part else torch.empty(e['shape'], dtype=names[e['dtype']])
    sys.stdout.write(json.dumps([name, str(t.dtype)[6:], torch.view_as_real(t).tolist() if t.is_complex() else t.tolist()]) + '\\n')
    # Written back, each doubled, in another order.
    s = t if t.dtype == torch.bool else t + t
    blob = bytes(s.contiguous().reshape(-1).view(torch.uint8).tolist()) if s.numel() else b''
    blobs.append(blob)
    out[name] = {'data_offsets': [offset, offset + len(blob)], 'shape': e['shape'], 'dtype': e['dtype']}
    offset += len(blob)
text = json.dumps(out).encode()
open(sys.argv[2], 'wb').write(struct.pack('<Q', len(text)) + text + b''.join(blobs))
`;
  const tensors = torch.keep(torch.scope(many));
  safetensors.save(at('here'), tensors);
  const { code, stdout, stderr } = await python3(['-c', script, at('here'), at('there')]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const seen = new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(([name, ...rest]) => [name, rest]),
  );
  torch.scope(() => {
    const numbers = (t: any) => (t.dtype === 'complex64' ? untyped.viewAsReal(t.resolveConj()) : t).toArray();
    const expected = Object.entries(tensors).map(([name, t]) => [name, [t.dtype, numbers(t)]]);
    const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
    // JavaScript's JSON cannot represent -0 and bigint.
    expect(JSON.parse(JSON.stringify(Object.fromEntries(seen)))).toEqual(
      JSON.parse(JSON.stringify(Object.fromEntries(expected), bigints)),
    );
    const doubled = safetensors.load(at('there'));
    for (const [name, t] of Object.entries(tensors)) {
      const twice = t.dtype === 'bool' ? t : t.add(t);
      expect([name, doubled[name]!.dtype, doubled[name]!.toArray()]).toEqual([name, t.dtype, twice.toArray()]);
    }
  });
  torch.disposeAll(tensors);
});

test('mmap maps a file: nothing is read before use, and writes do not reach the file', async () => {
  const file = at('large');
  torch.scope(() => safetensors.save(file, { a: torch.ones([2 ** 24]), b: torch.zeros([2 ** 24]) }));
  const { opened, allocated, read, sum, same, closed } = await ask(`
    const file = ${JSON.stringify(file)};
    torch.scope(() => torch.ones([4]).sum().item()); // leaves no garbage, which would be freed before \`allocated\` is read
    const start = rssMB();
    const source = torch.safetensors.open(file, { mmap: true });
    const before = torch.memory().allocatedBytes;
    const a = source.get('a');
    const all = torch.safetensors.load(file, { mmap: true });
    const allocated = torch.memory().allocatedBytes - before;
    const opened = rssMB() - start;
    const sum = a.sum().item();
    const read = rssMB() - start;
    a.add_(1);
    all.b.add_(5);
    const again = torch.safetensors.load(file);
    const same = [again.a.at(5).item(), again.b.at(5).item(), a.at(5).item()];
    source.close();
    let closed;
    try { source.get('b'); } catch (error) { closed = [error.code, a.at(7).item()]; }
    answer({ opened, allocated, read, sum, same, closed });
  `);
  expectResident(opened).toBeLessThan(30);
  expect(allocated).toBe(0);
  expect(sum).toBe(2 ** 24);
  expect(read).toBeGreaterThan(30);
  expect(same).toEqual([1, 0, 2]);
  expect(closed).toEqual(['ERR_TORCH_FILE', 2]);
});

test('one tensor after the other: names, shapes and metadata without reading', () => {
  balanced(() => {
    const file = torch.scope(() => {
      safetensors.save(at('one'), { w: torch.ones([2, 3]), n: torch.tensor([5n]) }, { metadata: { a: 'b' } });
      return safetensors.open(at('one'));
    });
    expect(file.keys()).toEqual(['n', 'w']);
    expect([file.has('w'), file.has('x')]).toEqual([true, false]);
    expect(file.metadata).toEqual({ a: 'b' });
    expect(file.info('w')).toEqual({ dtype: 'float32', shape: [2, 3] });
    expect(codeOf(() => file.get('x'))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => file.info('toString'))).toBe('ERR_TORCH_ARGUMENT');
    torch.scope(() =>
      expect(file.get('w').toArray()).toEqual([
        [1, 1, 1],
        [1, 1, 1],
      ]),
    );
    file.close();
    file.close();
  });
});

describe('refused files', () => {
  const made = (header: string | Buffer, data = 0, length?: bigint) => {
    const text = Buffer.from(header as string);
    const bytes = Buffer.alloc(8 + text.length + data);
    bytes.writeBigUInt64LE(length ?? BigInt(text.length));
    text.copy(bytes, 8);
    return bytes;
  };
  const entry = (dtype: string, shape: unknown, begin: unknown, end: unknown) =>
    JSON.stringify({ dtype, shape, data_offsets: [begin, end] });
  const cases: [string, Buffer, RegExp][] = [
    ['nothing', Buffer.alloc(0), /at least 8 bytes, got 0/],
    ['seven bytes', Buffer.alloc(7), /at least 8 bytes, got 7/],
    ['a header longer than the file', made('{}', 0, 50n), /header has 50 bytes, but the file ends after 2/],
    ['a header above the limit', made('{}', 0, 100_000_001n), /at most 100000000/],
    ['a length of 2^64 - 1', made('{}', 0, 2n ** 64n - 1n), /at most 100000000 bytes, got 18446744073709551615/],
    ['no object', made('[]'), /does not begin with \{/],
    ['a space first', made(' {}'), /does not begin with \{/],
    ['no JSON', made('{"a":}'), /not JSON/],
    ['no UTF-8', made(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), /not JSON/],
    [
      'two tensors of one name',
      made(`{"a":${entry('U8', [1], 0, 1)},"a":${entry('U8', [1], 0, 1)}}`, 1),
      /duplicate key "a"/,
    ],
    [
      'one of them written otherwise',
      made(`{"a":${entry('U8', [1], 0, 1)},"\\u0061":${entry('U8', [1], 0, 1)}}`, 1),
      /duplicate key "a"/,
    ],
    [
      'two shapes',
      made('{"a":{"dtype":"U8","shape":[1],"shape":[2],"data_offsets":[0,2]}}', 2),
      /duplicate key "shape"/,
    ],
    ['a dtype of another kind', made(`{"a":${entry('F31', [1], 0, 4)}}`, 4), /unknown dtype "F31"/],
    ['a dtype of Object.prototype', made(`{"a":${entry('constructor', [1], 0, 4)}}`, 4), /unknown dtype/],
    ['a negative size', made(`{"a":${entry('U8', [-1], 0, 1)}}`, 1), /shape is not a list of sizes/],
    ['half a size', made(`{"a":${entry('U8', [0.5], 0, 1)}}`, 1), /shape is not a list of sizes/],
    ['a size beyond exact integers', made(`{"a":${entry('U8', [2 ** 53], 0, 1)}}`, 1), /shape is not a list of sizes/],
    [
      'sizes whose product overflows',
      made(`{"a":${entry('F64', [2 ** 31, 2 ** 31, 4], 0, 0)}}`),
      /more elements than can be counted/,
    ],
    ['offsets the wrong way', made(`{"a":${entry('U8', [1], 1, 0)}}`, 1), /data_offsets give it -1/],
    ['one offset', made('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}', 1), /not two offsets/],
    ['offsets of text', made(`{"a":${entry('U8', [1], '0', 1)}}`, 1), /not two offsets/],
    [
      'too few bytes for the shape',
      made(`{"a":${entry('F32', [2], 0, 4)}}`, 4),
      /takes 8 bytes, data_offsets give it 4/,
    ],
    ['an overlap', made(`{"a":${entry('U8', [4], 0, 4)},"b":${entry('U8', [4], 2, 6)}}`, 6), /"b" overlaps/],
    ['a gap', made(`{"a":${entry('U8', [1], 0, 1)},"b":${entry('U8', [1], 2, 3)}}`, 3), /"b" leaves a gap of 1 bytes/],
    ['data beyond the file', made(`{"a":${entry('U8', [9], 0, 9)}}`, 4), /tensors take 9 bytes, the file has 4/],
    ['data outside all tensors', made(`{"a":${entry('U8', [1], 0, 1)}}`, 3), /tensors take 1 bytes, the file has 3/],
    ['an entry that is a list', made('{"a":[]}'), /expected an object/],
    ['an unknown key', made('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}'), /unknown key "x"/],
    ['metadata of numbers', made('{"__metadata__":{"a":1}}'), /not an object of strings/],
  ];

  test.each(cases)('%s', (_, bytes, message) => {
    const file = at('refused');
    writeFileSync(file, bytes);
    balanced(() => {
      for (const source of [bytes, file]) {
        const error = thrown(() => safetensors.load(source));
        expect([error.code, error.message]).toEqual([
          'ERR_TORCH_FILE',
          expect.stringMatching(source === file && bytes.length < 8 ? /at least 8|is empty/ : message),
        ]);
      }
      expect(codeOf(() => safetensors.open(file))).toBe('ERR_TORCH_FILE');
    });
  });

  test('names of Object.prototype are ordinary names', () => {
    torch.scope(() => {
      const tensors = Object.create(null);
      for (const name of ['__proto__', 'constructor', 'toString']) tensors[name] = torch.ones([1]);
      const loaded = safetensors.load(safetensors.serialize(tensors));
      expect(Object.keys(loaded)).toEqual(['__proto__', 'constructor', 'toString']);
      expect(Object.getPrototypeOf(loaded)).toBe(Object.prototype);
    });
  });

  test('a header near the limit is read quickly', () => {
    torch.scope(() => {
      const one = torch.ones([1]);
      const tensors = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`layer.${i}.weight`, one]));
      expect(Object.keys(safetensors.load(safetensors.serialize(tensors)))).toHaveLength(20_000);
    });
  });

  test('a missing file, a folder, wrong arguments; a failed save does not change the old file', () => {
    balanced(() => {
      expect(thrown(() => safetensors.load(at('missing'))).code).toBe('ENOENT');
      expect(codeOf(() => safetensors.load(folder))).toBe('ERR_TORCH_FILE');
      for (const wrong of [5, null, {}, new Float32Array(9)]) {
        expect(codeOf(() => untyped.safetensors.load(wrong))).toBe('ERR_TORCH_ARGUMENT');
      }
      torch.scope(() => {
        const one = torch.ones([1]);
        const gone = torch.ones([1]);
        safetensors.save(at('kept'), { one });
        const size = statSync(at('kept')).size;
        gone.dispose();
        expect(codeOf(() => safetensors.save(at('kept'), { one, gone }))).toBe('ERR_TORCH_DISPOSED');
        expect(codeOf(() => safetensors.save(at('kept'), { one: one.toSparse() }))).toBe('ERR_TORCH_ARGUMENT');
        expect(codeOf(() => untyped.safetensors.save(at('kept'), { one: 5 }))).toBe('ERR_TORCH_ARGUMENT');
        for (const unnamed of [[one], new Map([['one', one]]), new Set([one]), one])
          expect(codeOf(() => untyped.safetensors.save(at('kept'), unnamed))).toBe('ERR_TORCH_ARGUMENT');
        expect(codeOf(() => untyped.safetensors.save(at('kept'), { one }, { metadata: { a: 1 } }))).toBe(
          'ERR_TORCH_ARGUMENT',
        );
        expect(codeOf(() => safetensors.save(at('kept'), { one: torch.ones([1], { dtype: 'complex128' }) }))).toBe(
          'ERR_TORCH_ARGUMENT',
        );
        const absent = thrown(() => safetensors.save(at('none/x'), { one }));
        expect([absent.code, absent.message]).toEqual([
          'ENOENT',
          `ENOENT: no such file or directory, open '${at('none/x')}'`,
        ]);
        expect(statSync(at('kept')).size).toBe(size);
      });
      expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
    });
  });
});
