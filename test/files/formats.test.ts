/** Files of another format than the loader's: each error names the format and its loader. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { python3 } from '../support/python3';
import { limitMs } from '../support/sanitized';
import { balanced, thrown, torch } from '../support/torch';

let folder: string;
const at = (name: string) => path.join(folder, name);

const SCRIPT = `
import io, os, pickle, sys, tarfile, zipfile, numpy as np, torch
os.chdir(sys.argv[1])
state = {'a': torch.ones(3)}
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
torch.save(state, 'new.pt')
torch.save(state, 'legacy.pt', _use_new_zipfile_serialization=False)
torch.jit.save(torch.jit.script(Model()), 'script.pt')
pickle.dump({'a': 1}, open('plain.pkl', 'wb'), protocol=4)
np.save('a.npy', np.ones(3))
np.savez('a.npz', a=np.ones(3))
with tarfile.open('tar.pt', 'w', format=tarfile.USTAR_FORMAT) as tar:
    for name in ('sys_info', 'pickle', 'tensors', 'storages'):
        info = tarfile.TarInfo(name); info.size = 1
        tar.addfile(info, io.BytesIO(b'x'))
for name, entries in {'export.pt2': ['serialized_exported_program.json'], 'aoti.pt2': ['data/aotinductor/model/x.so'], 'other.zip': ['x']}.items():
    with zipfile.ZipFile(name, 'w') as z:
        for entry in entries: z.writestr(entry, 'x')
`;

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-formats-'));
  fs.writeFileSync(at('write.py'), SCRIPT);
  const { code, stderr } = await python3(['-W', 'ignore', at('write.py'), folder]);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  torch.scope(() => torch.safetensors.save({ a: torch.ones([3]) }, at('a.safetensors')));
  fs.writeFileSync(at('new.pt.gz'), gzipSync(fs.readFileSync(at('new.pt'))));
  fs.writeFileSync(at('page.pt'), '\n<!DOCTYPE html>\n<html><body>404: Not Found</body></html>\n');
  fs.writeFileSync(at('error.pt'), '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>');
  fs.writeFileSync(
    at('lfs.pt'),
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`,
  );
  fs.writeFileSync(at('model.safetensors.index.json'), '{\n  "metadata": { "total_size": 12 },\n  "weight_map": {} }');
  fs.writeFileSync(at('a.h5'), `\x89HDF\r\n\x1a\n${'x'.repeat(100)}`, 'latin1');
  fs.writeFileSync(at('a.gguf'), 'GGUF\x03\0\0\0xxxxxxxxxxxx');
  fs.writeFileSync(at('a.bz2'), `BZh91AY&SY${'x'.repeat(50)}`);
  fs.writeFileSync(at('a.xz'), Buffer.from('fd377a585a000000000000000000', 'hex'));
  fs.writeFileSync(at('a.zst'), Buffer.from('28b52ffd0000000000000000000', 'hex'));
  fs.writeFileSync(at('empty.pt'), '');
}, limitMs(120_000));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const SAVE = 'load it in Python and save it again with torch.save';

/** The description of each file for a loader of another format. */
const files: [file: string, got: string][] = [
  ['new.pt', 'a torch.save file: use torch.load'],
  ['script.pt', 'a TorchScript model: use torch.jit.load'],
  ['a.npz', 'an npz file: use torch.npz.load'],
  ['a.npy', 'an npy file: use torch.npy.load'],
  ['a.safetensors', 'a safetensors file: use torch.safetensors.load'],
  ['aoti.pt2', 'an AOTInductor package: use torch.inductor.aotiLoadPackage'],
  [
    'export.pt2',
    'a torch.export program: compile it in Python with torch._inductor.aoti_compile_and_package, or save its state_dict',
  ],
  ['legacy.pt', `a torch.save file in the legacy format (PyTorch before 1.6): ${SAVE}`],
  ['tar.pt', `a tar archive: unpack it first; if PyTorch before 0.1.10 wrote it, ${SAVE}`],
  ['plain.pkl', `a Python pickle: ${SAVE}, or with safetensors`],
  ['new.pt.gz', 'a file compressed by gzip: unpack it first (zlib.gunzipSync)'],
  ['a.zst', 'a file compressed by zstd: unpack it first'],
  ['a.xz', 'a file compressed by xz: unpack it first'],
  ['a.bz2', 'a file compressed by bzip2: unpack it first'],
  ['page.pt', 'an HTML page: the download is a page about the file, or an error page'],
  ['error.pt', 'an XML document: the download may be an error message'],
  ['lfs.pt', 'a Git LFS pointer: fetch the file itself with `git lfs pull`'],
  ['model.safetensors.index.json', 'JSON: if it is the index of a sharded model, load the files that it lists'],
  ['a.h5', 'an HDF5 file: save its arrays with numpy.savez'],
  ['a.gguf', 'a GGUF file: save its tensors with safetensors'],
];

type Loader = [name: string, own: string, code: string, start: string, load: (source: any) => unknown];
const loaders: Loader[] = [
  ['torch.load', 'new.pt', 'ERR_TORCH_FILE', 'torch.load: expected a torch.save file', (s) => torch.load(s)],
  [
    'safetensors.load',
    'a.safetensors',
    'ERR_TORCH_FILE',
    'safetensors: expected a safetensors file',
    (s) => torch.safetensors.load(s),
  ],
  ['npy.load', 'a.npy', 'ERR_TORCH_FILE', 'npy: expected an npy file', (s) => torch.npy.load(s)],
  ['npz.load', 'a.npz', 'ERR_TORCH_FILE', 'npz: expected an npz file', (s) => torch.npz.load(s)],
  ['jit.load', 'script.pt', 'ERR_TORCH_MODEL', 'jit.load: expected a TorchScript model', (s) => torch.jit.load(s)],
];

describe.each(loaders)('%s', (_, own, code, start, load) => {
  test.each(files.filter(([file]) => file !== own))('%s', (file, got) => {
    for (const source of [at(file), pathToFileURL(at(file)), fs.readFileSync(at(file))]) {
      const error = thrown(() => load(source));
      expect([error.code, error.message]).toEqual([code, `${start}, got ${got}`]);
    }
  });

  test('refused files leak nothing', () => {
    balanced(() => {
      for (const [file] of files) if (file !== own) thrown(() => load(at(file)));
    });
  });

  test('its own format, an empty file, a folder, a missing file', () => {
    torch.scope(() => expect(load(at(own))).toBeDefined());
    const empty = thrown(() => load(at('empty.pt')));
    expect([empty.code, empty.message.endsWith('empty.pt is empty')]).toEqual([code, true]);
    const directory = thrown(() => load(folder));
    expect([directory.code, directory.message.endsWith('expected a regular file, got a folder')]).toEqual([code, true]);
    expect(thrown(() => load(at('gone'))).code).toBe('ENOENT');
  });

  test('other archives, and files of unknown formats', () => {
    for (const source of [at('other.zip'), Buffer.from('PK\x03\x04 and so on'), Buffer.alloc(600, 7)]) {
      expect(thrown(() => torch.scope(() => load(source))).code).toBe(code);
    }
  });
});

test('streams are recognized by their first bytes, or once the archive is complete', async () => {
  const streams: [string, (bytes: Uint8Array) => Promise<unknown>][] = [
    ['safetensors: expected a safetensors file', (bytes) => torch.safetensors.loadFromStream(bytes)],
    ['npy: expected an npy file', (bytes) => torch.npy.loadFromStream(bytes)],
    ['npz: expected an npz file', (bytes) => torch.npz.loadFromStream(bytes)],
    ['torch.load: expected a torch.save file', (bytes) => torch.loadFromStream(bytes)],
  ];
  for (const [start, load] of streams) {
    for (const [file, got] of files.filter(([name]) => ['new.pt.gz', 'legacy.pt', 'lfs.pt'].includes(name))) {
      const error: any = await load(fs.readFileSync(at(file))).catch((reason) => reason);
      // A stream only has a few first bytes.
      const short =
        file === 'legacy.pt' && /^safe|^npy/.test(start) ? `a Python pickle: ${SAVE}, or with safetensors` : got;
      expect([error.code, error.message]).toEqual(['ERR_TORCH_FILE', `${start}, got ${short}`]);
    }
    const zip: any = await load(fs.readFileSync(at('script.pt'))).catch((reason) => reason);
    expect([zip.code, zip.message.startsWith(`${start}, got a `)]).toEqual(['ERR_TORCH_FILE', true]);
  }
});

test('torch.inductor.aotiLoadPackage', () => {
  const load = (file: string) => thrown(() => torch.inductor.aotiLoadPackage(at(file)));
  if (load('new.pt').code === 'ERR_TORCH_NOT_IMPLEMENTED') return; // libtorch 1.13
  for (const [file, got] of files.filter(([name]) => name !== 'aoti.pt2')) {
    const { code, message } = load(file);
    const start = 'inductor.aotiLoadPackage: expected an AOTInductor package';
    expect([code, message]).toEqual(['ERR_TORCH_MODEL', `${start}, got ${got}`]);
  }
});
