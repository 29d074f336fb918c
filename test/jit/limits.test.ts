/** Limits on the expansion of small models: those of files of tensors, and those on libtorch's own parsing. */
import * as path from 'node:path';
import { packed } from '../support/packed';
import { balanced, codeOf, LIB, thrown, torch } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels } from './models';

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { examineSource } = require(path.join(LIB, 'jit/source.js'));
beforeAll(makeModels, MODELS_MS);

/** The model with other or further entries, all compressed. */
function model(entries: Record<string, string | Uint8Array>): Buffer {
  const bytes = bytesOf('control');
  const zip = new ZipReader(
    { size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) },
    Error,
  );
  const all: Record<string, Uint8Array> = {};
  for (const entry of zip.entries.values()) all[entry.name] = zip.data(entry);
  for (const [name, data] of Object.entries(entries)) all[name] = Buffer.from(data as string, 'latin1');
  return packed(all);
}
const refused = (bytes: Uint8Array, options: object = {}): string => {
  const error = balanced(() => thrown(() => torch.jit.load(bytes, options)));
  expect(error.code).toBe('ERR_TORCH_MODEL');
  return error.message;
};

const u32 = (n: number) => String.fromCharCode(n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24);
const text = (value: string) => `X${u32(value.length)}${value}`;
/** A module whose state is one attribute. */
const pickle = (value: string) => `\x80\x02c__torch__\nControl\n)\x81}${text('a')}${value}sb.`;
const MIB = 2 ** 20;
const storage = `(${text('storage')}ctorch\nFloatStorage\n${text('9')}${text('cpu')}J${u32(MIB / 4)}tq\x01`;
const parts = (value: string, entries = {}) => model({ 'control/data.pkl': pickle(value), ...entries });
const withStorage = (value: string) => parts(value, { 'control/data/9': new Uint8Array(MIB) });

test('libtorch reads a storage as often as it is named: the limit of bytes', () => {
  expect(refused(withStorage(`(${storage}${'h\x01Q'.repeat(1000)}t`))).toMatch(
    /at most \d+ bytes unpacked \(maxBytes\), got \d+ or more/,
  );
  const { length } = model({});
  expect(refused(model({}), { maxBytes: 100 })).toMatch(/at most 100 bytes unpacked \(maxBytes\)/);
  torch.scope(() => void torch.jit.load(model({}), { maxBytes: 20 * length }));
});

test('tensors, objects, levels', () => {
  const tensor = `ctorch._utils\n_rebuild_tensor_v2\nq\x02(${storage}QK\x00K\x04\x85K\x01\x85\x89ccollections\nOrderedDict\n)Rtq\x03R`;
  expect(refused(withStorage(`(${tensor}${'h\x02h\x03R'.repeat(60_000)}t`))).toMatch(
    /at most \d+ tensors \(maxTensors\)/,
  );
  expect(refused(parts(`(${']'.repeat(400_000)}t`))).toMatch(/at most \d+ lists, dictionaries|maxObjects/);
  expect(refused(parts(`${']'.repeat(50)}${'a'.repeat(49)}`), { maxDepth: 20 })).toMatch(/at most 20 levels/);
  expect(refused(parts(`${']'.repeat(600)}${'a'.repeat(599)}`), { maxDepth: 1e6 })).toMatch(
    /nested more than 500 deep/,
  );
});

test('a long name that a few bytes use again and again', () => {
  const names = `${text(`__torch__.${'a'.repeat(500_000)}`)}q\x02${text('X')}q\x03${'h\x02h\x03\x93'.repeat(100)}`;
  expect(refused(parts(`(${names}t`))).toMatch(/at most \d+ instructions/);
});

test('an enum of many values, of which each use may compare all', () => {
  const source = `class Many(Enum):\n${Array.from({ length: 5000 }, (_, i) => `  A${i} = ${i}\n`).join('')}`;
  const uses = (count: number) =>
    parts(`(c__torch__\nMany\nq\x02${'h\x02K\x01R'.repeat(count)}t`, { 'control/code/__torch__.py': source });
  expect(refused(uses(1000))).toMatch(/at most \d+ instructions/);
  expect(refused(uses(10))).toMatch(/libtorch cannot load it/); // the class of the module is missing
});

test('a huge memo index, for which libtorch would allocate memory', () => {
  expect(refused(parts(`Nr${u32(4e9)}`))).toMatch(/far beyond the earlier ones/);
});

test('statements of a class without a type or a value, for which libtorch 1.13 ends the process', () => {
  const of = (body: string, bases = 'Module') =>
    `class Control(${bases}):\n  __parameters__ = []\n  __buffers__ = []\n${body}`;
  const refusal = (body: string, bases?: string) =>
    refused(model({ 'control/code/__torch__.py': of(body, bases) })).replace(/^.*: /, '');
  expect(refusal('  x = 1\n')).toBe('"x" in a class has no type');
  expect(refusal('  a : int\n  x = [\n    1]')).toBe('"x" in a class has no type');
  expect(refusal('  x : Final[int]\n', 'Enum')).toBe('"x" in a class has no value');
  expect(refusal('  __forward_hooks__ : List[str]\n')).toBe('"__forward_hooks__" in a class has no value');
  expect(refusal('  __annotations__["0"] : int\n')).toBe('"__annotations__" in a class has no value');
  // Beside them: the locals of a method, and what has both.
  const method = '  def f(self: __torch__.Control) -> int:\n    x = 1\n    y : int = 2\n    return x\n';
  for (const body of [method, '  x : Final[int] = 1\n']) {
    balanced(() => torch.scope(() => void torch.jit.load(model({ 'control/code/__torch__.py': of(body) }))));
  }
  expect(refusal('  __annotations__["0"] = int\n')).toBe('Argument passed to at() was not in the map.'); // libtorch's
});

test('source of millions of words', () => {
  const source = 'def f(x: int) -> int:\n  return x\n'.repeat(300_000);
  expect(refused(model({ 'control/code/__torch__.py': source }))).toMatch(/maxObjects/);
});

test('strings that do not end: each search for the end would read the rest of the source', () => {
  const refusal = (source: string) => refused(model({ 'control/code/__torch__.py': source }));
  expect(refusal("\\'''\n".repeat(10_000))).toMatch(/a backslash outside of strings/);
  expect(refusal(`x = '${"\\'".repeat(20_000)}`)).toMatch(/a string that does not end/);
  expect(refusal('x = "a\n"')).toMatch(/a string that does not end/);
  const good = [String.raw`x = "a\"b'" + 'c"\'' + "" + ''`, 'x = 1 \\\n  + 2', `x = """a"b'\n""" + '''c"'''`, "# it's"];
  for (const source of good) expect(() => examineSource(`${source}\n`, Error)).not.toThrow();
});

test('a wrong limit', () => {
  expect(codeOf(() => torch.jit.load(bytesOf('control'), { maxTensors: Number.NaN }))).toBe('ERR_TORCH_ARGUMENT');
});
