/** Limits on the expansion of small files: bytes, tensors, objects and levels, in every archive; refusals do not leak. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { ask } from '../support/child';
import { packed } from '../support/packed';
import { expectResident, limitMs } from '../support/sanitized';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

jest.setTimeout(limitMs(60_000));

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-limits-'));
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

const opened = (bytes: Uint8Array) =>
  new ZipReader({ size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) }, Error);

/** The entries of an archive of torch.save, with another pickle. */
function withPickle(code: string): Record<string, Uint8Array> {
  const bytes = torch.scope(() => torch.saveToBuffer([torch.ones([4])]));
  const entries: Record<string, Uint8Array> = {};
  const zip = opened(bytes);
  for (const entry of zip.entries.values()) entries[entry.name] = zip.data(entry);
  entries['archive/data.pkl'] = Buffer.from(`\x80\x02${code}.`, 'latin1');
  return entries;
}
const stored = (entries: Record<string, Uint8Array>): Buffer => {
  const parts: Uint8Array[] = [];
  const writer = new ZipWriter({ put: (part: Uint8Array) => parts.push(part) });
  for (const [name, bytes] of Object.entries(entries)) writer.add(name, bytes);
  writer.end();
  return Buffer.concat(parts);
};

const u32 = (n: number) => String.fromCharCode(n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24);
const text = (value: string) => `X${u32(value.length)}${value}`;
const rebuild = 'ctorch._utils\n_rebuild_tensor_v2\nq\x00';
const args = `(${`(${text('storage')}ctorch\nFloatStorage\n${text('0')}${text('cpu')}K\x04tQ`}K\x00K\x04\x85K\x01\x85tq\x01`;
/** A list of `count` tensors over one storage, five bytes each. */
const tensors = (count: number) => `${rebuild}0${args}0](${'h\x00h\x01R'.repeat(count)}e`;

/** Loads the file in a new process: the error, leftovers, and the peak memory. */
const attempt = async (bytes: Uint8Array, load: string) => {
  const file = path.join(folder, 'attempt');
  fs.writeFileSync(file, bytes);
  return ask(
    `
    torch.scope(() => void torch.ones([2]).add(1));
    const before = counts(), peak = peakMB();
    (async () => {
      let error;
      try { await (async (file) => ${load})(${JSON.stringify(file)}); } catch (e) { error = e; }
      // Streams release their last object in a later turn.
      for (let turn = 0; turn < 200 && counts().tensors > before.tensors; turn++) { globalThis.gc(); await new Promise(setImmediate); }
      const after = counts();
      answer({ code: error && error.code, message: error && error.message, grown: peakMB() - peak,
        left: [after.tensors - before.tensors, after.bytes - before.bytes] });
    })();`,
    ['--expose-gc'],
  );
};

describe('attacks with small files', () => {
  test('1.9 GB of zeros in an npz of 1.9 MB, from a path, bytes and a stream', async () => {
    const array = torch.scope(() => torch.npy.serialize(torch.zeros([120_000_000 / 4])));
    const bomb = packed(Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`a${i}.npy`, array])));
    expect(bomb.length).toBeLessThan(2e6);
    for (const load of [
      'torch.npz.load(file)',
      "torch.npz.load(require('fs').readFileSync(file))",
      "torch.npz.loadFromStream(require('fs').createReadStream(file))",
      "torch.npz.loadFromStream(require('fs').createReadStream(file), { maxBytes: 64e6 })",
    ]) {
      const { code, message, grown, left } = await attempt(bomb, load);
      expect({ code, left }).toEqual({ code: 'ERR_TORCH_FILE', left: [0, 0] });
      expect(message).toMatch(/^npz: expected at most \d+ bytes unpacked \(maxBytes\), got 19\d{8} or more$/);
      expectResident(grown).toBeLessThan(60);
    }
  });

  test('300,000 tensors of 2.5 KB', async () => {
    const bomb = packed(withPickle(tensors(300_000)));
    expect(bomb.length).toBeLessThan(4000);
    const { code, message, left } = await attempt(bomb, 'torch.load(file)');
    expect({ code, left }).toEqual({ code: 'ERR_TORCH_FILE', left: [0, 0] });
    expect(message).toMatch(/expected at most 16\d{3} tensors \(maxTensors\), got more$/);
  });

  test('a compressed storage of 2 GB', async () => {
    // Never written: only the directory states the size.
    const zip = packed(withPickle(tensors(1)));
    const at = zip.lastIndexOf('archive/data/0') - 46;
    zip.writeUInt32LE(2 ** 31, at + 24);
    zip.writeUInt32LE(2 ** 22, at + 20);
    const { code, left } = await attempt(zip, 'torch.load(file)');
    expect({ code, left }).toEqual({ code: 'ERR_TORCH_FILE', left: [0, 0] });
  });
});

describe('each limit', () => {
  const load = (code: string, options: object = {}) => torch.load(stored(withPickle(code)), options);
  const refusal = (code: string, options: object = {}) => {
    const error = balanced(() => thrown(() => load(code, options)));
    expect(error.code).toBe('ERR_TORCH_FILE');
    return error.message;
  };

  test('tensors: parameters count, and the limit can be raised or lowered', () => {
    torch.scope(() => expect((load(tensors(5), { maxTensors: 5 }) as unknown[]).length).toBe(5));
    expect(refusal(tensors(6), { maxTensors: 5 })).toMatch(/at most 5 tensors \(maxTensors\)/);
    const parameter = `ctorch._utils\n_rebuild_parameter\n(${rebuild}${args}R\x89NtR`;
    expect(refusal(parameter, { maxTensors: 1 })).toMatch(/at most 1 tensors/);
    const many = packed(withPickle(tensors(20_000)));
    expect(codeOf(() => torch.load(many))).toBe('ERR_TORCH_FILE');
    torch.scope(() => expect((torch.load(many, { maxTensors: 20_000 }) as unknown[]).length).toBe(20_000));
  });

  test.each([
    ['lists', ']0'],
    ['dictionaries', '}0'],
    ['sets', '\x8f0'],
    ['empty tuples', ')0'],
    ['tuples', 'N\x850'],
    ['empty bytes', 'C\x000'],
    ['names', 'ctorch\nSize\n0'],
    ['calls', `ctorch\nSize\n(]tR0`],
  ])('objects: %s', (_, code) => {
    torch.scope(() => void load(`${code.repeat(3)}N`, { maxObjects: 12 }));
    expect(refusal(`${code.repeat(13)}N`, { maxObjects: 12 })).toMatch(/at most 12 lists, dictionaries.*maxObjects/);
  });

  test('objects of a compressed pickle: limited by its bytes in the file', () => {
    const error = balanced(() => thrown(() => torch.load(packed(withPickle(`${']0'.repeat(1_000_000)}N`)))));
    expect(error.message).toMatch(/at most 26\d{4} lists, dictionaries/);
  });

  test('levels: lists, dictionaries, tuples', () => {
    const lists = (depth: number) => `${']'.repeat(depth)}${'a'.repeat(depth - 1)}`;
    const tuples = (depth: number) => `)${'\x85'.repeat(depth - 1)}`;
    const dicts = (depth: number) => `}${`${text('a')}}`.repeat(depth - 1)}${'s'.repeat(depth - 1)}`;
    for (const nested of [lists, tuples, dicts]) {
      load(nested(1000));
      expect(refusal(nested(1001))).toMatch(/at most 1000 levels of nesting \(maxDepth\), got more/);
      load(nested(3), { maxDepth: 3 });
      expect(refusal(nested(4), { maxDepth: 3 })).toMatch(/at most 3 levels/);
    }
    expect(refusal(tuples(100_000), { maxDepth: Number.POSITIVE_INFINITY })).toMatch(/nested too deeply/);
  });

  test('calls that copy their arguments count by the copied size', () => {
    const list = `](${'K\x01'.repeat(10_000)}eq\x02`;
    for (const name of ['torch\nSize', 'builtins\nset']) {
      const copies = `c${name}\nq\x03${list}\x85q\x04(${'h\x03h\x04R'.repeat(1000)}t`;
      expect(refusal(copies)).toMatch(/at most \d+ instructions/);
    }
  });

  test('calls count by their arguments, also by those that they do not use', () => {
    const calls = (count: number) =>
      `ccollections\nOrderedDict\nq\x03(]${'N'.repeat(50_000)}tq\x04(${'h\x03h\x04R'.repeat(count)}t`;
    expect(refusal(calls(400))).toMatch(/at most \d+ instructions/);
    expect((load(calls(4)) as unknown[]).length).toBe(4);
  });

  test('a tensor of a hundred thousand dimensions', () => {
    const sizes = `(${'K\x01'.repeat(100_000)}t`;
    const code = `${rebuild}((${text('storage')}ctorch\nFloatStorage\n${text('0')}${text('cpu')}K\x04tQK\x00${sizes}${sizes}tR`;
    expect(refusal(code)).toMatch(/at most 64 dimensions, got 100000/);
  });

  test('the memo: numbers far beyond the previous ones are refused', () => {
    expect(refusal(`Nr${u32(4e9)}`)).toMatch(/memo index 4000000000 is far beyond/);
    expect(load(`K\x07r${u32(1000)}0j${u32(1000)}`)).toBe(7);
    expect(refusal(`K\x07r${u32(1000)}0j${u32(999)}`)).toMatch(/memo index 999 is not set/);
  });

  test('bytes: stored bytes count too, in an npz as in a torch.save file', () => {
    torch.scope(() => {
      const state = { a: torch.ones([1000]) };
      const file = path.join(folder, 'state.pt');
      torch.save(state, file);
      const arrays = path.join(folder, 'state.npz');
      torch.npz.save(arrays, state);
      for (const [fn, from] of [
        [torch.load, file],
        [torch.npz.load, arrays],
      ] as [(source: string, options: object) => unknown, string][]) {
        fn(from, { maxBytes: 5000 });
        expect(thrown(() => fn(from, { maxBytes: 4000 })).message).toMatch(/at most 4000 bytes unpacked \(maxBytes\)/);
      }
      expect(codeOf(() => torch.npz.load(arrays, { maxTensors: 0 }))).toBe('ERR_TORCH_FILE');
    });
  });

  test('wrong values', () => {
    const bytes = torch.scope(() => torch.saveToBuffer([1]));
    for (const name of ['maxBytes', 'maxTensors', 'maxObjects', 'maxDepth']) {
      for (const value of [-1, Number.NaN, '5', null]) {
        const error = thrown(() => untyped.load(bytes, { [name]: value }));
        expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: name });
      }
    }
    expect(codeOf(() => untyped.npz.load(bytes, { maxDepth: 1 }))).toBe('ERR_TORCH_ARGUMENT'); // not an option of npz
    expect(codeOf(() => untyped.jit.load(bytes, { maxObjects: -1 }))).toBe('ERR_TORCH_ARGUMENT');
  });

  test('entries whose headers overlap the next one', () => {
    const array = torch.scope(() => torch.npy.serialize(torch.zeros([1])));
    const zip = packed({ 'a.npy': array, 'b.npy': array });
    zip.writeUInt16LE(40, 28); // the first local header: its extra field covers a part of the second entry
    expect(thrown(() => torch.npz.load(zip)).message).toMatch(/"a\.npy": overlaps what follows it/);
  });

  test('entries with two names: NumPy refuses them too', () => {
    const array = torch.scope(() => torch.npy.serialize(torch.zeros([1])));
    const zip = packed({ 'a.npy': array, 'b.npy': array });
    zip.write('c', 30); // the name in the first local header
    const error = thrown(() => torch.npz.load(zip));
    expect([error.code, error.message]).toEqual([
      'ERR_TORCH_FILE',
      expect.stringContaining('"a.npy": its local header names it "c.npy"'),
    ]);
  });
});

describe('keys that may collide', () => {
  // V8 hashes them without a seed, so an attacker can choose colliding ones. Any will do here: the rule ignores the hash.
  const f64 = (n: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(n);
    return `G${bytes.toString('latin1')}`;
  };
  const i32 = (n: number) => `J${u32(n >>> 0)}`;
  const long = (n: bigint, length: number) => {
    const hex = BigInt.asUintN(8 * length, n)
      .toString(16)
      .padStart(2 * length, '0');
    return `\x8a${String.fromCharCode(length)}${Buffer.from(hex, 'hex').reverse().toString('latin1')}`;
  };
  const numbers = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i));
  const dict = (keys: string[]) => `}(${keys.map((key) => `${key}N`).join('')}u`;
  const load = (code: string, options: object = {}) => torch.load(stored(withPickle(code)), options) as any;
  const refused = (code: string) => {
    const error = balanced(() => thrown(() => load(code)));
    expect(error).toMatchObject({ code: 'ERR_TORCH_FILE', message: expect.stringContaining('chosen to collide') });
  };
  const doubles = (count: number) => numbers(count, (i) => f64(i + 0.5));
  const kinds: [string, (count: number) => string[]][] = [
    ['doubles', doubles],
    ['integers far apart', (count) => numbers(count, (i) => i32(i * 49_999))],
    ['negative ones', (count) => numbers(count, (i) => i32(-i * 49_999))],
    ['integers beyond 32 bits', (count) => numbers(count, (i) => long(BigInt(i) << 33n, 7))],
    ['integers of 64 bits', (count) => numbers(count, (i) => long((BigInt(i) << 40n) + 2n ** 62n, 8))],
    ['texts that are numbers', (count) => numbers(count, (i) => text(String(i * 65_536)))],
  ];
  test.each(kinds)('40,000 %s as keys are refused, 4,000 are not', (_, keys) => {
    refused(dict(keys(40_000)));
    const some = load(dict(keys(4000)));
    expect(some instanceof Map ? some.size : Object.keys(some).length).toBe(4000);
  });

  test('in sets, in calls that make sets, in parts, and in a model', () => {
    const keys = doubles(40_000);
    refused(`\x8f(${keys.join('')}\x90`);
    refused(`cbuiltins\nset\n](${keys.join('')}e\x85R`);
    refused(`ccollections\nOrderedDict\n](${keys.map((key) => `${key}N\x86`).join('')}e\x85R`);
    refused(`}${keys.map((key) => `${key}Ns`).join('')}`);
    refused(`](${Array.from({ length: 80 }, () => dict(doubles(2000))).join('')}e`); // many small ones in total
    const entries = withPickle('N');
    const model = {
      'archive/version': Buffer.from('3\n'),
      'archive/constants.pkl': Buffer.from(`\x80\x02${dict(keys)}.`, 'latin1'),
      'archive/data.pkl': entries['archive/data.pkl']!,
    };
    expect(thrown(() => torch.jit.load(stored(model))).message).toContain('chosen to collide');
  });

  test('long comparisons: repeated keys, an integer of many digits', () => {
    const key = text('k'.repeat(1_000_000));
    refused(`}q\x00${key}q\x01N${'s'}${key}q\x02${'0h\x00'}${'h\x02Ns'.repeat(10_000)}`);
    const large = (i: number) => long((BigInt(i) << 1900n) + 1n, 254);
    refused(dict(numbers(2000, large)));
    expect(load(dict(numbers(50, large))).size).toBe(50);
  });

  test('0 to n in any order, ids, and a vocabulary are accepted; Infinity accepts any', () => {
    const shuffled = (count: number) => numbers(count, (i) => i32((i * 48_271) % count)); // coprime to `count`
    expect(load(dict(numbers(300_000, i32))).size).toBe(300_000);
    expect(load(dict([i32(2 ** 31 - 1), i32(-100), ...numbers(100_000, i32)])).size).toBe(100_002);
    expect(load(dict(shuffled(100_000))).size).toBe(100_000);
    expect(load(dict(numbers(100_000, (i) => i32(i * 20 + 7)))).size).toBe(100_000);
    const words = numbers(100_000, (i) => text(i % 10 === 0 ? String((i * 48_271) % 100_000) : `token ${i}`));
    expect(Object.keys(load(dict(words))).length).toBe(100_000);
    expect(load(dict(doubles(20_000)), { maxObjects: Number.POSITIVE_INFINITY }).size).toBe(20_000);
  });
});

describe('large honest files are loaded', () => {
  test('thousands of tensors with their own storages, and a vocabulary of many pairs', () => {
    torch.scope(() => {
      const state: Record<string, unknown> = {
        vocabulary: Array.from({ length: 200_000 }, (_, i) => [`token ${i}`, i]),
      };
      for (let i = 0; i < 2000; i++) state[`layers.${i}.weight`] = torch.zeros([1]);
      const file = path.join(folder, 'many.pt');
      torch.save(state, file);
      expect(Object.keys(torch.load(file) as object).length).toBe(2001);
    });
  });

  test('an array that is compressed to a hundredth', () => {
    const array = torch.scope(() => torch.npy.serialize(torch.zeros([10_000_000])));
    torch.scope(() => expect(torch.npz.load(packed({ 'a.npy': array })).a!.numel).toBe(10_000_000));
  });

  test('a shape far beyond its storage, as made by expand: one tensor', () => {
    const far = '\x8a\x06\0\0\0\0\0\x01';
    const code = `${rebuild}((${text('storage')}ctorch\nFloatStorage\n${text('0')}${text('cpu')}K\x04tQK\x00${far}\x85K\x00\x85tR`;
    torch.scope(() => expect((torch.load(stored(withPickle(code))) as any).shape).toEqual([2 ** 40]));
  });
});
