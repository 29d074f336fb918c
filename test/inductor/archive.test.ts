/**
 * Packages that are truncated, damaged, incomplete or for another machine: the library's own check refuses them before
 * anything is loaded. This does not use libtorch, so it is the same for every version.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { loadsPackages } from '../support/release';
import { counts, LIB, settled, thrown, torch, untyped } from '../support/torch';

const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
const { examinePackage } = require(path.join(LIB, 'inductor/archive.js'));
const { addonFile } = require(path.join(LIB, 'addon/native.js')) as { addonFile: string };

let folder = '';
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-inductor-'));
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

type Entries = Record<string, Uint8Array | string>;

function archive(entries: Entries): Buffer {
  const parts: Uint8Array[] = [];
  const zip = new ZipWriter({ put: (bytes: Uint8Array) => parts.push(Buffer.from(bytes)) });
  for (const [name, data] of Object.entries(entries)) zip.add(name, Buffer.from(data as string));
  zip.end();
  return Buffer.concat(parts);
}

const metadata = (more = {}) => JSON.stringify({ AOTI_DEVICE_KEY: 'cpu', ...more });
const MODEL = 'p/data/aotinductor/model/';
/** The entries of a package whose library is only text. */
const entries = (more: Entries = {}, name = MODEL): Entries => ({
  'p/archive_format': 'pt2',
  [`${name}x.wrapper.so`]: 'a library',
  [`${name}x.wrapper_metadata.json`]: metadata(),
  ...more,
});

const fail = (what: string) => Object.assign(new Error(what), { code: 'REFUSED' });
function examined(bytes: Buffer, name = 'model') {
  return examinePackage(
    { size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) },
    name,
    fail,
  );
}
function refused(bytes: Buffer, name?: string): string {
  const error = thrown(() => examined(bytes, name));
  expect(error.code).toBe('REFUSED');
  return error.message;
}
/** Unpacks and returns the refusal. */
function refusedLibrary(library: Uint8Array | string): string {
  const to = fs.mkdtempSync(path.join(folder, 'unpacked-'));
  const error = thrown(() => examined(archive(entries({ [`${MODEL}x.wrapper.so`]: library }))).unpack(to));
  expect(error.code).toBe('REFUSED');
  return error.message;
}

test('the contents of a package, with and without an enclosing folder', () => {
  for (const model of [MODEL, 'data/aotinductor/model/']) {
    const found = examined(archive(entries({ [`${model}weights.blob`]: 'weights' }, model)));
    expect(found).toMatchObject({ device: 'cpu', bytes: 'a library'.length + 'weights'.length });
    expect(found.metadata).toEqual({ AOTI_DEVICE_KEY: 'cpu' });
  }
  const other = examined(archive(entries({}, 'p/data/aotinductor/other/')), 'other');
  expect(other.device).toBe('cpu');
});

test('its files are written unchanged, without sources', () => {
  const addon = fs.readFileSync(addonFile);
  const to = fs.mkdtempSync(path.join(folder, 'unpacked-'));
  const more = { [`${MODEL}x.cpp`]: 'source', [`${MODEL}in/side.txt`]: 'inside', 'p/data/constants/c0': 'constant' };
  const found = examined(archive(entries({ ...more, [`${MODEL}x.wrapper.so`]: addon })));
  expect(thrown(() => found.unpack(to)).message).toContain('not an AOTInductor library');
  expect(fs.readdirSync(to).sort()).toEqual(['c0', 'in', 'x.wrapper.so', 'x.wrapper_metadata.json']);
  expect(fs.readFileSync(path.join(to, 'x.wrapper.so')).equals(addon)).toBe(true);
  expect(fs.readFileSync(path.join(to, 'in/side.txt'), 'latin1')).toBe('inside');
});

test('truncated and changed packages', () => {
  const bytes = archive(entries());
  for (let size = 0; size < bytes.length; size += 13) refused(bytes.subarray(0, size));
  for (const place of ['a library', 'AOTI_DEVICE_KEY', 'pt2']) {
    const damaged = Buffer.from(bytes);
    damaged[bytes.indexOf(place)]! ^= 1;
    expect(refused(damaged)).toContain('CRC-32 mismatch');
  }
});

test('files that are not packages, or lack a part', () => {
  expect(refused(archive({ 'p/models/model.json': '{}' }))).toMatch(
    /^expected an AOTInductor package, got a torch\.export program: /,
  );
  expect(refused(archive({ 'p/x.json': '{}' }))).toContain('not an AOTInductor package');
  expect(refused(archive(entries()), 'mine')).toBe('expected a model named "mine", got "model"');
  const without = (name: string) =>
    archive(Object.fromEntries(Object.entries(entries()).filter(([n]) => !n.endsWith(name))));
  expect(refused(without('.so'))).toBe('it has no library');
  expect(refused(without('.json'))).toBe('its metadata is missing');
  const source = { ...entries({ [`${MODEL}x.wrapper.cpp`]: 'int main;' }) };
  delete source[`${MODEL}x.wrapper.so`];
  expect(refused(archive(source))).toContain('source code instead of a library');
  expect(refused(archive(entries({ [`${MODEL}y.so`]: '' })))).toContain('expected one *.so file');
  const beside = archive(entries({ [`${MODEL}weights_config.json`]: '{}' }));
  expect(refused(beside)).toContain('weights are not in its library');
});

test('names that lead outside the folder', () => {
  for (const name of ['../../x', 'a/../b', './b', 'a//b', 'a\\b', '/etc/x']) {
    expect(refused(archive(entries({ [MODEL + name]: 'x' })))).toContain('invalid file name');
  }
});

test('metadata', () => {
  const named = (text: string) => refused(archive(entries({ [`${MODEL}x.wrapper_metadata.json`]: text })));
  expect(named('{')).toContain('not JSON');
  expect(named('[]')).toContain('not an object');
  expect(named('null')).toContain('not an object');
  expect(named('{"AOTI_DEVICE_KEY": 1}')).toContain('is not a string');
  expect(named('{}')).toContain('does not name a device');
  expect(named('{"AOTI_DEVICE_KEY": "cpu/../x"}')).toContain('does not name a device');
  expect(named(' '.repeat(2 ** 20 + 1))).toContain('larger than');
});

test('files that are not libraries, or for another machine', () => {
  const addon = fs.readFileSync(addonFile);
  const changed = (at: number) => {
    const copy = Buffer.from(addon);
    copy[at]! ^= 0x40;
    return copy;
  };
  expect(refusedLibrary('')).toContain('is not a shared library');
  expect(refusedLibrary('text '.repeat(100))).toContain('is not a shared library');
  expect(refusedLibrary(addon.subarray(0, 4096))).toContain('is truncated');
  expect(refusedLibrary(changed(18))).toContain('is for another processor');
  expect(refusedLibrary(addon)).toContain('not an AOTInductor library');
});

test('the arguments of aotiLoadPackage', () => {
  const { aotiLoadPackage, AotiPackage } = untyped.inductor;
  for (const [file, options, argument] of [
    [new Uint8Array(3), {}, 'path'],
    ['x.pt2', { modelName: 1 }, 'modelName'],
    ['x.pt2', { numRunners: 0 }, 'numRunners'],
    ['x.pt2', { numRunners: 1.5 }, 'numRunners'],
    ['x.pt2', { deviceIndex: -1 }, 'deviceIndex'],
    ['x.pt2', { model_name: 'x' }, 'options'],
    ['x.pt2', null, 'options'],
  ]) {
    const error = thrown(() => aotiLoadPackage(file, options));
    expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'inductor.aotiLoadPackage', argument });
  }
  expect(thrown(() => new AotiPackage()).message).toContain('use torch.inductor.aotiLoadPackage');
});

test(loadsPackages ? 'a bad file is a coded error' : 'a libtorch that loads none says so', () => {
  const file = path.join(folder, 'bad.pt2');
  fs.writeFileSync(file, 'no archive, but long enough to be one');
  const before = settled();
  const code = (name: string) => thrown(() => torch.inductor.aotiLoadPackage(name)).code;
  if (loadsPackages) {
    expect([file, folder].map(code)).toEqual(['ERR_TORCH_MODEL', 'ERR_TORCH_MODEL']);
    expect(code(path.join(folder, 'gone.pt2'))).toBe('ENOENT');
    fs.writeFileSync(file, archive(entries()));
    expect(code(file)).toBe('ERR_TORCH_MODEL');
  } else {
    const error = thrown(() => torch.inductor.aotiLoadPackage(file));
    expect(error.code).toBe('ERR_TORCH_NOT_IMPLEMENTED');
    expect(error.message).toContain(`this libtorch is ${untyped.libtorchVersion}`);
    expect(error.message).toContain('need 2.6 or later');
  }
  expect(counts()).toEqual(before);
});
