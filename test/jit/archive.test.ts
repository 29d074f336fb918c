/**
 * Archives that are truncated, damaged or malicious: the library's own check refuses each before libtorch reads a byte.
 * (libtorch's message would begin with "libtorch cannot load it".)
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { counts, LIB, settled, thrown, torch } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels, pathOf } from './models';

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
const { examineSource } = require(path.join(LIB, 'jit/source.js'));

beforeAll(makeModels, MODELS_MS);
beforeEach(() => void settled()); // garbage of other tests freed meanwhile would change the counts

const zipOf = (bytes: Buffer) =>
  new ZipReader({ size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) }, Error);

/** The entries of a model, without the folder that they are in. */
function entriesOf(name: string): Map<string, Buffer> {
  const zip = zipOf(bytesOf(name));
  const entries = [...zip.entries.values()] as { name: string }[];
  return new Map(entries.map((entry) => [entry.name.slice(name.length + 1), Buffer.from(zip.data(entry))]));
}

function archive(entries: Iterable<readonly [string, Uint8Array | string]>, folder = 'm/'): Buffer {
  const parts: Uint8Array[] = [];
  const zip = new ZipWriter({ put: (bytes: Uint8Array) => parts.push(Buffer.from(bytes)) });
  for (const [name, data] of entries) zip.add(folder + name, Buffer.from(data as string));
  zip.end();
  return Buffer.concat(parts);
}

const changed = (name: string, change: (entries: Map<string, Buffer | string>) => void): Buffer => {
  const entries: Map<string, Buffer | string> = entriesOf(name);
  change(entries);
  return archive(entries);
};

/** The file of the model's source that has `text`. */
const sourceWith = (entries: Map<string, Buffer | string>, text: string): string =>
  [...entries.keys()].find((name) => name.endsWith('.py') && String(entries.get(name)).includes(text))!;

/** The message of our own refusal. */
function refused(bytes: Uint8Array | string): string {
  const before = counts();
  const error = thrown(() => torch.jit.load(bytes));
  expect(error.code).toBe('ERR_TORCH_MODEL');
  expect(error.message).not.toContain('libtorch cannot');
  expect(counts()).toEqual(before);
  return error.message;
}

test('a repacked archive is still a model', () => {
  torch.scope(() => {
    const m = torch.jit.load(changed('mlp-scripted', () => {}));
    expect(m.forward(torch.ones([1, 6])).shape).toEqual([1, 3]);
  });
});

test('truncated archives', () => {
  const bytes = bytesOf('mlp-scripted');
  for (let size = 0; size < bytes.length; size += 97) refused(bytes.subarray(0, size));
  refused(bytes.subarray(0, bytes.length - 1));
  refused(bytes.subarray(1));
  refused(Buffer.concat([bytes, Buffer.from('x')]));
});

test('changes in any entry', () => {
  const bytes = bytesOf('cnn-traced');
  const zip = zipOf(bytes);
  for (const entry of zip.entries.values()) {
    const start = zip.start(entry);
    for (const at of new Set([0, entry.packed >> 1])) {
      const damaged = Buffer.from(bytes);
      damaged[start + at]! ^= 0x10;
      refused(damaged);
    }
  }
});

/** The offset of an entry's record in the directory. */
function recordOf(bytes: Buffer, name: string): number {
  for (let at = bytes.indexOf('PK\x01\x02'); at >= 0; at = bytes.indexOf('PK\x01\x02', at + 1)) {
    if (bytes.toString('latin1', at + 46, at + 46 + bytes.readUInt16LE(at + 28)) === name) return at;
  }
  throw new Error(`no ${name}`);
}

test('an ambiguous archive', () => {
  const bytes = archive(entriesOf('mlp-scripted'));
  const edit = (change: (copy: Buffer, at: (name: string) => number) => void) => {
    const copy = Buffer.from(bytes);
    change(copy, (name) => recordOf(copy, `m/${name}`));
    return refused(copy);
  };
  expect(edit((b, at) => b.writeUInt32LE(b.readUInt32LE(at('data/0') + 42), at('data/1') + 42))).toMatch(
    /overlaps what follows it/,
  );
  expect(edit((b, at) => b.write('9', b.readUInt32LE(at('data/0') + 42) + 30 + 'm/data/'.length))).toContain(
    '"m/data/0": its local header names it "m/data/9"',
  );
  expect(edit((b, at) => b.writeUInt16LE(8, b.readUInt32LE(at('version') + 42) + 8))).toContain(
    'does not match the directory',
  );
  expect(edit((b, at) => b.writeUInt32LE(2 ** 31, at('version') + 42))).toContain('overlaps what follows it');
  expect(edit((b) => b.writeUInt32LE(b.readUInt32LE(b.length - 6) - 1, b.length - 6))).toContain('directory');
  expect(edit((b) => b.writeUInt16LE(4, b.length - 2))).toContain('truncated');
  refused(Buffer.concat([bytes, bytes])); // whose offsets are those of one archive
});

test('compressed entries that would fill the memory', () => {
  const bytes = bytesOf('mlp-scripted');
  const packed = [...zipOf(bytes).entries.values()].find(({ deflated }) => deflated);
  const at = recordOf(bytes, packed.name);
  bytes.writeUInt32LE(2 ** 29, at + 24);
  expect(refused(bytes)).toMatch(/\d+ bytes cannot be unpacked to 536870912/);
});

test('missing and misplaced entries', () => {
  for (const name of ['data.pkl', 'version', 'data/0']) {
    const without = changed('mlp-scripted', (entries) => {
      entries.delete(name);
      entries.delete(`.data/${name}`);
    });
    expect(refused(without)).toContain('missing');
  }
  const without = changed('mlp-scripted', (entries) => entries.delete('constants.pkl'));
  expect(refused(without)).toContain('use torch.load');
  expect(refused(archive([...entriesOf('mlp-scripted'), ['../x', 'y']], ''))).toContain('is outside the folder');
  expect(refused(torch.saveToBuffer({ x: 1 }))).toContain('torch.load');
  expect(refused(changed('mlp-scripted', (entries) => entries.set('version', 'three')))).toContain(
    'not a version number',
  );
  expect(refused(changed('mlp-scripted', (entries) => entries.set('byteorder', 'big')))).toContain('byteorder');
  expect(refused(changed('mlp-scripted', (entries) => entries.set('model.json', '{}')))).toContain('1.1 or earlier');
  expect(refused(archive([]))).toContain('not a TorchScript model');
});

test('tensors that do not fit their storages', () => {
  const short = changed('mlp-scripted', (entries) => entries.set('data/0', 'short'));
  expect(refused(short)).toMatch(/storage 0: .* got 5 bytes/);
  const wide = changed('mlp-scripted', (entries) => {
    const pickle = entries.get('data.pkl') as Buffer;
    const at = pickle.indexOf(Buffer.from([0x4b, 16, 0x4b, 6]));
    expect(at).toBeGreaterThan(0);
    pickle[at + 3] = 7;
  });
  expect(refused(wide)).toContain('a tensor of shape [16, 7] exceeds its storage of 96 elements');
});

test('pickles that name, call or contain foreign objects', () => {
  const pickle = (body: string) =>
    changed('mlp-scripted', (entries) => entries.set('data.pkl', Buffer.from(body, 'latin1')));
  const cases: [string, string][] = [
    ['\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.', 'os.system is not among the names'],
    ['\x80\x02c__torch__\nM\n)\x81}b', 'unexpected end'],
    ['\x80\x02}.', 'expected a module'],
    ['\x80\x02c__torch__\nM\n)\x81K\x01\x81.', 'not a class'],
    ['\x80\x02K\x01K\x02b.', 'BUILD target has no state'],
    ['\x80\x02\xff.', 'unsupported opcode 0xff'],
    [
      `\x80\x02c__torch__\nM\n)\x81}(X\x01\0\0\0a${']'.repeat(2000)}${'a'.repeat(1999)}ub.`,
      'nested more than 500 deep',
    ],
    [
      `\x80\x02c__torch__\nM\n)\x81}(X\x01\0\0\0actorch.jit._pickle\nrestore_type_tag\n(]X\xd0\x07\0\0${'List['.repeat(400)}tRub.`,
      'a type with too many parts',
    ],
  ];
  for (const [body, message] of cases) expect(refused(pickle(body))).toContain(message);
});

test('source with unbounded nesting', () => {
  const source = (code: string) =>
    changed('mlp-scripted', (entries) => {
      const file = sourceWith(entries, 'forward');
      entries.set(file, `${entries.get(file)}\n${code}`);
    });
  const block = (depth: number, line: string, end = '\n') =>
    Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}${line}${end}`).join('');
  for (const [code, message] of [
    [`x = ${'('.repeat(5000)}1${')'.repeat(5000)}`, 'brackets nested'],
    [`x = ${'[\r\n'.repeat(5000)}1${']'.repeat(5000)}`, 'brackets nested'],
    [`x = 1${' + 1'.repeat(5000)}`, 'an expression nested'],
    [`x = ${'- '.repeat(5000)}1`, 'an expression nested'],
    [`x = 1${' + \\\r\n1'.repeat(5000)}`, 'an expression nested'],
    [`x = a${'.b'.repeat(5000)}`, 'an expression nested'],
    [`x = ${'not '.repeat(5000)}True`, 'an expression nested'],
    [`x = """\n"""${" + '(' + 1".repeat(2000)}`, 'an expression nested'],
    [block(500, 'if True:'), 'blocks nested'],
    [block(500, 'if True:', '\r\n'), 'blocks nested'],
    [`if a:\n  b\n${'elif a:\n  b\n'.repeat(500)}`, 'branches of one if'],
    ['x = 1)', 'an unmatched closing bracket'],
    ['x = "\0"', 'a zero byte'],
  ] as const) {
    expect(refused(source(code))).toContain(message);
  }
});

test('source that is only long, or that only looks nested in strings and comments, is not refused', () => {
  const fail = (what: string) => new Error(what);
  const quotes = ["'", '"', "'''", '"""'];
  const strings = quotes.map((quote) => `x = ${quote}${'(['.repeat(900)}\\${quote[0]} ${'(- '.repeat(900)}${quote}`);
  const multiline = `x = """\n${'((((\n'.repeat(900)}"""\ny = '\\\r\n(((('\n`;
  const lines = Array.from({ length: 5000 }, (_, i) => `x${i} = torch.add(x, [${i}, (2, 3)], alpha=-1.5)\r\n`).join('');
  const list = `x = [${'1, '.repeat(50_000)}]\n`;
  const comment = `# ${'('.repeat(5000)}\n`;
  for (const text of [...strings, multiline, lines, list, comment])
    expect(() => examineSource(text, fail)).not.toThrow();
  const seen = `${multiline}x = ${'('.repeat(300)}`; // text after a string is checked
  expect(() => examineSource(seen, fail)).toThrow('brackets nested');
});

test('a valid archive that libtorch refuses gives an error with a code', () => {
  const unknown = changed('cnn-scripted', (entries) => {
    const file = sourceWith(entries, 'torch.max_pool2d(');
    entries.set(file, String(entries.get(file)).replace('torch.max_pool2d(', 'torch.no_such_op('));
  });
  const error = thrown(() => torch.jit.load(unknown));
  expect(error.code).toBe('ERR_TORCH_MODEL');
  expect(error.message).toContain('libtorch cannot load it');
  expect(error.message).toContain('no_such_op');
  const newer = thrown(() => torch.jit.load(changed('mlp-traced', (entries) => entries.set('version', '99999'))));
  expect(newer.code).toBe('ERR_TORCH_MODEL');
});

test('paths', () => {
  expect(thrown(() => torch.jit.load(pathOf('gone'))).code).toBe('ENOENT');
  expect(refused(os.tmpdir())).toContain('is not a file');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-jit-'));
  const file = path.join(folder, 'short.pt');
  fs.writeFileSync(file, bytesOf('mlp-traced').subarray(0, 1000));
  refused(file);
  fs.writeFileSync(file, '');
  expect(refused(file)).toContain('is empty');
  fs.rmSync(folder, { recursive: true });
});
