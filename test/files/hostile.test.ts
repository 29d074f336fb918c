/** Malicious files: each gives one error with a code on one short line, quickly, and with little memory. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

const { safetensors, npy, npz } = torch;
const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-hostile-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Refusals have ERR_TORCH_FILE and one line without control characters. */
function refused(load: () => unknown): string {
  const error = balanced(() => thrown(load));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there
  expect([error.code, error.message]).toEqual(['ERR_TORCH_FILE', expect.not.stringMatching(/[\x00-\x1f\x7f-\x9f]/)]);
  expect(error.message.length).toBeLessThan(400);
  return error.message;
}

/** Changes every n-th byte, by one bit and completely: a value, or ERR_TORCH_FILE. Returns the number of refusals. */
function changeBytes(bytes: Uint8Array, step: number, load: (changed: Buffer) => unknown): number {
  let errors = 0;
  const other: unknown[] = [];
  balanced(() => {
    for (let i = 0; i < bytes.length; i += step) {
      for (const mask of [1 << (i % 8), 0xff]) {
        const changed = Buffer.from(bytes);
        changed[i] = changed[i]! ^ mask;
        try {
          torch.scope(() => void load(changed));
        } catch (error) {
          errors++;
          if ((error as any).code !== 'ERR_TORCH_FILE') other.push([i, mask, String(error)]);
        }
      }
    }
  });
  expect(other).toEqual([]);
  return errors;
}

describe('safetensors', () => {
  const made = (header: string | Buffer, data = 0) => {
    const text = Buffer.from(header as string);
    const bytes = Buffer.alloc(8 + text.length + data);
    bytes.writeBigUInt64LE(BigInt(text.length));
    text.copy(bytes, 8);
    return bytes;
  };
  const entry = (fields: string) =>
    `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],${fields}}}`.replace(',}', '}');
  const shaped = (shape: string, offsets = '0,0') =>
    `{"a":{"dtype":"U8","shape":[${shape}],"data_offsets":[${offsets}]}}`;
  const far = '9007199254740991';

  const cases: [string, string, RegExp][] = [
    ['lists in lists for a dtype', `{"a":{"dtype":${'['.repeat(1e5)}${']'.repeat(1e5)}}}`, /nested too deeply/],
    ['objects in objects', `${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`, /nested too deeply/],
    ['unclosed brackets', `{${'['.repeat(1e6)}`, /nested too deeply/],
    ['an unclosed string', `{"${'x'.repeat(1e6)}`, /not JSON/],
    ['a backslash at the end', '{"a\\', /not JSON/],
    ['a number for an entry', '{"a":1}', /expected an object/],
    ['null for an entry', '{"a":null}', /expected an object/],
    ['a list for a dtype', '{"a":{"dtype":["U8"],"shape":[],"data_offsets":[0,1]}}', /unknown dtype a list/],
    ['an object for a shape', '{"a":{"dtype":"U8","shape":{"length":1},"data_offsets":[0,1]}}', /not a list of sizes/],
    ['sizes of text', '{"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}', /not a list of sizes/],
    ['a size of infinity', shaped('1e999'), /not a list of sizes/],
    ['a negative offset', shaped('1', '-1,0'), /not two offsets/],
    ['half an offset', shaped('1', '0,0.5'), /not two offsets/],
    ['an offset beyond exact integers', shaped('1', '0,9007199254740993'), /not two offsets/],
    ['three offsets', shaped('1', '0,1,1'), /not two offsets/],
    ['no offsets', '{"a":{"dtype":"U8","shape":[]}}', /not two offsets/],
    ['__proto__ in an entry', entry('"__proto__":{"dtype":"U8"}'), /unknown key "__proto__"/],
    ['an empty tensor whose sizes overflow', shaped(`0,${far},${far}`), /more elements than can be counted/],
    ['the same, the other way', shaped(`${far},${far},0`), /more elements than can be counted/],
    ['a product of many sizes', shaped(`${`${far},`.repeat(50_000)}1`), /more elements than can be counted/],
    ['a long name', `{"${'x'.repeat(1e6)}":[]}`, /"x{60}…": expected an object/],
    ['a name that clears the screen', '{"\\u001b[2J\\u009b\\n":[]}', /"\\u001b\[2J\\u009b\\n"/],
    ['metadata in metadata', '{"__metadata__":{"a":{"b":"c"}}}', /not an object of strings/],
    ['metadata that is a list', '{"__metadata__":["a"]}', /not an object of strings/],
  ];
  test.each(cases)('%s', (_, header, message) => {
    expect(refused(() => safetensors.load(made(header, 1)))).toMatch(message);
  });

  test('long texts are read, and __proto__ is an ordinary name', () => {
    const text = 'x'.repeat(3_000_000);
    writeFileSync(path.join(folder, 'text'), made(`{"__metadata__":{"__proto__":"${text}","a":"\\\\\\""}}`));
    const file = safetensors.open(path.join(folder, 'text'));
    expect(Object.keys(file.metadata)).toEqual(['__proto__', 'a']);
    expect([Object.getPrototypeOf(file.metadata), file.metadata.a]).toEqual([Object.prototype, '\\"']);
    file.close();
  });

  test('each byte of the header changed', () => {
    const bytes = torch.scope(() =>
      safetensors.serialize({ a: torch.ones([2, 3]), b: torch.tensor([1n, 2n]) }, { metadata: { k: 'v' } }),
    );
    const header = 8 + Number(bytes.readBigUInt64LE());
    const whole = (head: Buffer) => safetensors.load(Buffer.concat([head, bytes.subarray(header)]));
    expect(changeBytes(bytes.subarray(0, header), 1, whole)).toBeGreaterThan(100);
  });
});

/** The archive of torch.save with other files in it. */
function archive(bytes: Uint8Array, change: (name: string, data: Uint8Array) => Uint8Array): Buffer {
  const zip = new ZipReader(
    { size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) },
    Error,
  );
  const parts: Uint8Array[] = [];
  const writer = new ZipWriter({ put: (part: Uint8Array) => parts.push(part) });
  for (const entry of zip.entries.values()) writer.add(entry.name, change(entry.name, zip.data(entry)));
  writer.end();
  return Buffer.concat(parts);
}

describe('pickles', () => {
  const whole = torch.scope(() => torch.saveToBuffer({ a: torch.ones([4]) }));
  /** Latin-1, with the protocol before and STOP behind it. */
  const load = (code: string) => {
    const pickle = Buffer.from(`\x80\x02${code}.`, 'latin1');
    return torch.load(archive(whole, (name, data) => (name.endsWith('.pkl') ? pickle : data)));
  };

  const u32 = (n: number) => String.fromCharCode(n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24);
  const text = (value: string) => `X${u32(value.length)}${value}`;
  const call = (name: string, args: string) => `c${name.replace(' ', '\n')}\n(${args}tR`;
  /** 2^53 - 1, as LONG1. */
  const far = '\x8a\x07\xff\xff\xff\xff\xff\xff\x1f';
  /** Each list contains the previous one twice: 2^40 elements for a full walk. */
  let bomb = `]q\x00(${text('ab')}e`;
  for (let i = 1; i <= 40; i++)
    bomb += `0]q${String.fromCharCode(i)}(h${String.fromCharCode(i - 1)}h${String.fromCharCode(i - 1)}e`;
  const bombed = (name: string, rest = '') => `${bomb}0c${name.replace(' ', '\n')}\n(h\x28${rest}tR`;
  const storage = (key = text('0'), kind = 'torch\nFloatStorage', count = 'K\x04') =>
    `(${text('storage')}c${kind}\n${key}${text('cpu')}${count}tQ`;
  const tensor = (args: string) => call('torch._utils _rebuild_tensor_v2', args);

  const cases: [string, string, RegExp][] = [
    ['nothing on the stack', '', /stack is empty/],
    ['a pop from an empty stack', '0', /stack is empty/],
    ['a mark for a value', '(', /got a mark/],
    ['no mark', 'u', /no mark on the stack/],
    ['an unknown memo index', 'h\x05', /memo index 5 is not set/],
    ['a key without a value', '}(K\x01u', /a key has no value/],
    ['an append to a tuple', ')K\x01a', /APPEND target is not a list/],
    ['an element of a list', ']K\x01K\x02s', /not a dictionary/],
    ['an append to a list as a set', ']((\x90', /target is not a set|a mark/],
    ['LONG4 of 4 GB', '\x8b\xff\xff\xff\xff', /an integer of at most 65536 bytes, got 4294967295/],
    ['LONG4 of a negative length', '\x8b\x00\x00\x00\x80', /an integer of at most 65536 bytes, got 2147483648/],
    [
      'LONG4 that takes hours',
      `\x8b${u32(3e6)}${'\x7f'.repeat(3e6)}`,
      /an integer of at most 65536 bytes, got 3000000/,
    ],
    ['BINUNICODE of 4 GB', 'X\xff\xff\xff\xff', /a string of at most 268435456 bytes, got 4294967295/],
    ['BINUNICODE8', `\x8d${'\xff'.repeat(8)}`, /unsupported opcode 0x8d/],
    ['BINBYTES8', `\x8e${'\xff'.repeat(8)}`, /unsupported opcode 0x8e/],
    ['BYTEARRAY8', `\x96${'\xff'.repeat(8)}`, /unsupported opcode 0x96/],
    ['BINBYTES that is truncated', 'B\xff\xff\xff\x7f', /unexpected end/],
    ['a text that is not UTF-8', text('\xff\xfe'), /not valid UTF-8/],
    ['a name without an end', 'ctorch', /unterminated line/],
    ['a name of numbers', 'K\x01K\x02\x93', /global name is not a string/],
    ['a name of lists', `${bomb}${text('x')}\x93`, /global name is not a string/],
    ['a long name', `c${'a'.repeat(1e5)}\nb\n`, /"a{60}…" is not among the names/],
    ['a name that clears the screen', 'ca\x1b[2J\nb\n', /is not among the names/],
    ['a name of Object.prototype', 'ctorch\nconstructor\n', /is not among the names/],
    ['a class as a value', 'ccollections\nOrderedDict\n', /"OrderedDict" cannot be a value/],
    ['a call of a number', 'K\x05)R', /REDUCE target is not a function/],
    ['a call of a storage', 'ctorch\nFloatStorage\n)R', /REDUCE target is not a function/],
    ['a call with a list', 'ctorch\nSize\n]R', /REDUCE target is not a function/],
    ['a state for a list', ']}b', /BUILD target has no state/],
    ['an OrderedDict of a number', call('collections OrderedDict', 'K\x05'), /not a list of pairs/],
    ['an OrderedDict of numbers', call('collections OrderedDict', ']K\x05a'), /not a list of pairs/],
    ['a Size without arguments', call('torch Size', ''), /not a list of sizes/],
    ['a Size of None', call('torch Size', 'N'), /not a list of sizes/],
    ['a Size of text', call('torch Size', text('abc')), /not a list of sizes/],
    ['a complex number without arguments', call('builtins complex', ''), /arguments of complex are not numbers/],
    ['a complex number of lists', bombed('builtins complex', 'K\x01'), /arguments of complex are not numbers/],
    ['a device of lists', bombed('torch device'), /invalid arguments of torch\.device/],
    ['a set of a number', call('builtins set', 'K\x05'), /argument of set is not a list/],
    ['a parameter without arguments', call('torch._utils _rebuild_parameter', ''), /without a tensor/],
    ['a persistent id that is a number', 'K\x05Q', /does not name a storage/],
    ['an empty persistent id', ')Q', /does not name a storage/],
    ['a persistent id of one text', `(${text('storage')}tQ`, /a storage of an unsupported type/],
    ['a storage of a function', storage(text('0'), 'collections\nOrderedDict'), /a storage of an unsupported type/],
    ['a storage named by a list', storage(']'), /name of a storage is not a string/],
    ['a storage named like a path', storage(text('../version')), /"..\/version" is missing/],
    [
      'a storage of -4 elements',
      storage(text('0'), 'torch\nFloatStorage', 'J\xfc\xff\xff\xff'),
      /expected -4 elements/,
    ],
    [
      'a storage of 2^64 elements',
      storage(text('0'), 'torch\nFloatStorage', `\x8a\x09${'\0'.repeat(8)}\x01`),
      /elements of 4 bytes, got 16 bytes/,
    ],
    ['a storage of a list of elements', storage(text('0'), 'torch\nFloatStorage', ']'), /expected a list elements/],
    ['a tensor without arguments', tensor(''), /without a storage/],
    ['a tensor of a number', tensor('K\x05K\x00)))'), /without a storage/],
    ['a negative size', tensor(`${storage()}K\x00J\xff\xff\xff\xff\x85K\x01\x85`), /wrong sizes/],
    ['a negative stride', tensor(`${storage()}K\x00K\x02\x85J\xff\xff\xff\xff\x85`), /wrong sizes/],
    ['a negative offset', tensor(`${storage()}J\xff\xff\xff\xffK\x02\x85K\x01\x85`), /wrong sizes/],
    ['sizes and strides of another number', tensor(`${storage()}K\x00K\x02\x85)`), /wrong sizes/],
    ['half a size', tensor(`${storage()}K\x00G\x3f\xe0\0\0\0\0\0\0\x85K\x01\x85`), /wrong sizes/],
    ['sizes of text', tensor(`${storage()}K\x00${text('ab')}${text('ab')}`), /wrong sizes/],
    ['a stride beyond the storage', tensor(`${storage()}K\x00K\x04\x85${far}\x85`), /exceeds its storage/],
    ['an offset beyond the storage', tensor(`${storage()}${far}K\x01\x85K\x01\x85`), /exceeds its storage/],
    [
      'sizes whose product overflows',
      tensor(`${storage()}K\x00(${far}${far}t(K\x00K\x00t`),
      /more elements than can be counted/,
    ],
    [
      'the same, and empty',
      tensor(`${storage()}K\x00(${far}${far}K\x00t(K\x01K\x01K\x01t`),
      /more elements than can be counted/,
    ],
    [
      'a gradient of integers',
      tensor(`${storage(text('0'), 'torch\nIntStorage')}K\x00K\x04\x85K\x01\x85\x88`),
      /int32 that requires a gradient/,
    ],
    [
      'a hundred thousand lists in each other',
      `${']'.repeat(1e5)}${'a'.repeat(1e5 - 1)}`,
      /at most 1000 levels of nesting/,
    ],
    ['five million dictionaries', '}'.repeat(5e6), /at most 4000000 lists, dictionaries/],
    ['twenty million marks', '('.repeat(2e7), /more than 16000000 values/],
  ];
  test.each(cases)('%s', (_, code, message) => {
    expect(refused(() => load(code))).toMatch(message);
  });

  test('lists that contain themselves, keys such as __proto__, and names that are values', () => {
    balanced(() => {
      const list = load(']q\x00h\x00a') as unknown[];
      expect(list[0]).toBe(list);
      const dict = load(`}q\x00${text('a')}h\x00s`) as Record<string, unknown>;
      expect(dict.a).toBe(dict);
      const [[key, value]] = [...(load('}q\x00h\x00h\x00s') as Map<unknown, unknown>)] as [
        [Map<unknown, unknown>, unknown],
      ];
      expect([key.get(key), value]).toEqual([key, key]);
      const own = load(`}${text('__proto__')}}${text('polluted')}K\x01ss`) as object;
      expect([Object.getPrototypeOf(own), Object.keys(own), untyped.polluted]).toEqual([
        Object.prototype,
        ['__proto__'],
        undefined,
      ]);
      expect(load('ctorch\nfloat16\n')).toBe('float16');
      expect(load('\x8f(}K\x01\x85\x90')).toEqual(new Set([{}, [1]]));
      expect(load(`\x8a\x08${'\xff'.repeat(7)}\x7f`)).toBe(2n ** 63n - 1n);
      expect([load('\x8a\x00'), load('\x8a\x01\xff'), load(`\x8b${u32(9)}${'\0'.repeat(8)}\x80`)]).toEqual([
        0,
        -1,
        -(2n ** 71n),
      ]);
      expect((load(bomb) as unknown[]).length).toBe(2);
    });
  });

  test('integers of any length are written and read', () => {
    const values = [2n ** 2039n, -(2n ** 2039n), 2n ** 2047n, 2n ** 5000n, -(2n ** 5000n) + 1n];
    expect(torch.load(torch.saveToBuffer(values))).toEqual(values);
  });

  test('each byte of the pickle changed, with correct checksums of the archive', () => {
    const bytes = torch.scope(() =>
      torch.saveToBuffer({
        a: torch.arange(6).view([2, 3]),
        w: torch.ones([2], { requiresGrad: true }),
        plain: [1, 1.5, 'x', 2n ** 70n, null, true, new Map([[1, new torch.Complex(1, 2)]])],
      }),
    );
    let pickle = Buffer.alloc(0);
    archive(bytes, (name, data) => {
      if (name.endsWith('.pkl')) pickle = Buffer.from(data);
      return data;
    });
    const changed = (to: Buffer) => torch.load(archive(bytes, (name, data) => (name.endsWith('.pkl') ? to : data)));
    expect(changeBytes(pickle, 1, changed)).toBeGreaterThan(200);
  });
});

describe('archives and npy', () => {
  test('entries that share their bytes, or unpack to an impossible size', () => {
    const one = torch.scope(() => npy.serialize(torch.zeros([1000])));
    const packed = deflateRawSync(one);
    const make = (entries: { name: string; size: number; offset: number }[]) => {
      const local = Buffer.alloc(30 + 5);
      local.writeUInt32LE(0x04034b50, 0);
      local.writeUInt16LE(5, 26);
      local.write('a.npy', 30);
      const directory = entries.map(({ name, size, offset }) => {
        const head = Buffer.alloc(46);
        head.writeUInt32LE(0x02014b50, 0);
        head.writeUInt16LE(8, 10);
        head.writeUInt32LE(crc32(one), 16);
        head.writeUInt32LE(packed.length, 20);
        head.writeUInt32LE(size, 24);
        head.writeUInt16LE(name.length, 28);
        head.writeUInt32LE(offset, 42);
        return Buffer.concat([head, Buffer.from(name)]);
      });
      const end = Buffer.alloc(22);
      end.writeUInt32LE(0x06054b50, 0);
      end.writeUInt16LE(entries.length, 10);
      end.writeUInt32LE(Buffer.concat(directory).length, 12);
      end.writeUInt32LE(local.length + packed.length, 16);
      return Buffer.concat([local, packed, ...directory, end]);
    };
    const good = { name: 'a.npy', size: one.length, offset: 0 };
    torch.scope(() => expect(npz.load(make([good])).a!.shape).toEqual([1000]));
    expect(refused(() => npz.load(make([good, { ...good, name: 'b.npy' }])))).toMatch(/overlaps what follows/);
    expect(refused(() => npz.load(make([{ ...good, size: 2 ** 31 }])))).toMatch(/cannot be unpacked to 2147483648/);
  });

  test('two arrays of one name', () => {
    const parts: Uint8Array[] = [];
    const writer = new ZipWriter({ put: (part: Uint8Array) => parts.push(part) });
    const array = torch.scope(() => npy.serialize(torch.ones([1])));
    writer.add('a', array);
    writer.add('a.npy', array);
    writer.end();
    expect(refused(() => npz.load(Buffer.concat(parts)))).toMatch(/duplicate array "a"/);
  });

  test('every third byte of an npz changed', () => {
    const file = path.join(folder, 'two.npz');
    torch.scope(() => npz.save(file, { a: torch.ones([2, 3]), b: torch.zeros([4], { dtype: 'int16' }) }));
    const zipped = readFileSync(file);
    expect(changeBytes(zipped, 3, (bytes) => npz.load(bytes))).toBeGreaterThan(100);
  });

  test('headers of npy, and every byte of one changed', () => {
    const made = (header: string, data = 0) => {
      const head = Buffer.alloc(10);
      head.write('\x93NUMPY\x01\x00', 'latin1');
      head.writeUInt16LE(header.length, 8);
      return Buffer.concat([head, Buffer.from(header, 'latin1'), Buffer.alloc(data)]);
    };
    const shaped = (shape: string) => made(`{'descr': '<f4', 'fortran_order': True, 'shape': (${shape}), }`, 4);
    const far = 9007199254740991;
    expect(refused(() => npy.load(shaped(`0, ${far}, ${far}`)))).toMatch(/more elements than can be counted/);
    expect(refused(() => npy.load(shaped('1, '.repeat(65))))).toMatch(/at most 64 dimensions, got 65/);
    expect(refused(() => npy.load(shaped('9'.repeat(400))))).toMatch(/exceeds 2\^53 - 1/);
    expect(refused(() => npy.load(made('\x1b[2J\n'.repeat(99))))).toMatch(/not describe one array of numbers/);
    const bytes = torch.scope(() => npy.serialize(torch.ones([3, 5])));
    const start = bytes.length - 60;
    const whole = (head: Buffer) => npy.load(Buffer.concat([head, bytes.subarray(start)]));
    expect(changeBytes(bytes.subarray(0, start), 1, whole)).toBeGreaterThan(100);
  });
});

test('options: only known ones are accepted, and the nearest is suggested', () => {
  const bytes = torch.scope(() => torch.saveToBuffer([torch.ones([1])]));
  const tensors = torch.scope(() => safetensors.serialize({ a: torch.ones([1]) }));
  for (const call of [
    (options: unknown) => untyped.load(bytes, options),
    (options: unknown) => untyped.safetensors.load(tensors, options),
    (options: unknown) => untyped.npy.load(bytes, options),
    (options: unknown) => untyped.npz.load(bytes, options),
  ]) {
    for (const wrong of [null, 5]) expect(codeOf(() => call(wrong))).toBe('ERR_TORCH_ARGUMENT');
    const error = thrown(() => call({ devcie: 'cpu' }));
    expect([error.code, error.message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(/did you mean 'device'\?$/),
    ]);
  }
  expect(thrown(() => untyped.safetensors.serialize({}, { meta: {} })).message).toMatch(
    /the option metadata, got 'meta'/,
  );
});
