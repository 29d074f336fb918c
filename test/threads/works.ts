/** Kinds of work on the pool, each on memory that could be freed with its worker. For tests of ends during work. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { LIB, torch } from '../support/torch';

const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));

/**
 * By name, an expression that starts the work and gives the promise of its result, which is ones. `count` is the number of
 * floats that it reads, all 0 (16 times as many for long ops); `files` are those of `makeFiles`.
 */
export const WORKS: Record<string, string> = {
  'ops over a typed array': 'torch.run((T) => chain(T, zeros(16 * count)))',
  'one op over a typed array': 'torch.async.exp(zeros(count))',
  'ops that write to a typed array':
    '{ const x = zeros(count); return torch.run((T) => { for (let i = 0; i < 5; i++) { T.exp_(x); T.log_(x); } return T.exp_(x); }); }',
  'ops over a view': 'torch.run((T) => chain(T, zeros(count).reshape([2, -1]).t()))',
  'ops over a sparse tensor':
    '{ const at = torch.arange(count).unsqueeze(0); return torch.run((T) => T.sparseCooTensor(at, chain(T, zeros(count)), [count]).toDense()); }',
  'a gradient':
    '{ const w = zeros(count); w.requiresGrad = true; return torch.run((T) => T.backward(T.sum(chain(T, w)))).then(() => w.grad); }',
  'ops over a SharedArrayBuffer':
    '{ const x = torch.fromTypedArray(new Float32Array(new SharedArrayBuffer(count * 4))); return torch.run((T) => chain(T, x)); }',
  'ops over a WebAssembly memory':
    '{ const { buffer } = new WebAssembly.Memory({ initial: Math.ceil(count / 16384) }); const x = torch.fromTypedArray(new Float32Array(buffer, 0, count)); return torch.run((T) => chain(T, x)); }',
  "ops over another addon's memory":
    '{ const { buffer, byteOffset } = require(files.external).external(64 * count); const x = torch.fromTypedArray(new Float32Array(buffer, byteOffset, 16 * count)); return torch.run((T) => chain(T, x)); }',
  'safetensors.loadFromStream':
    'torch.safetensors.loadFromStream(createReadStream(files.safetensors)).then(({ x }) => torch.run((T) => chain(T, x)))',
  'safetensors.load':
    '{ const { x } = torch.safetensors.load(readFileSync(files.safetensors)); return torch.run((T) => chain(T, x)); }',
  'npy.loadFromStream':
    'torch.npy.loadFromStream(createReadStream(files.npy)).then((x) => torch.run((T) => chain(T, x)))',
  'npy.load': '{ const x = torch.npy.load(readFileSync(files.npy)); return torch.run((T) => chain(T, x)); }',
  'torch.load': '{ const x = torch.load(readFileSync(files.torch)); return torch.run((T) => chain(T, x)); }',
  'torch.loadFromStream':
    'torch.loadFromStream(createReadStream(files.torch)).then((x) => torch.run((T) => chain(T, x)))',
  'a model': 'model(files).async.call("forward", zeros(count))',
  'a model in torch.run': 'torch.run((T) => model(files).call("forward", T.add(zeros(count), 0)))',
};

/** `works[name](count, files)` in a program that has `torch`. */
export const BEGIN = `
  const { createReadStream, readFileSync } = require('node:fs');
  const zeros = (count) => torch.fromTypedArray(new Float32Array(count));
  const chain = (T, x) => { let y = x; for (let i = 0; i < 10; i++) y = T.exp(x); return y; };
  let loaded;
  const model = (files) => (loaded ??= torch.jit.load(readFileSync(files.model)));
  const works = {
    ${Object.entries(WORKS)
      .map(([name, source]) => `${JSON.stringify(name)}: (count, files) => ${source},`)
      .join('\n    ')}
  };
`;

export interface Files {
  external: string;
  model: string;
  safetensors: string;
  npy: string;
  torch: string;
}

/** A hand-written TorchScript model, so that these tests do not need PyTorch. */
function slowModel(): Buffer {
  const parts: Uint8Array[] = [];
  const zip = new ZipWriter({ put: (bytes: Uint8Array) => parts.push(Buffer.from(bytes)) });
  const code = [
    'class Slow(Module):',
    '  __parameters__ = []',
    '  __buffers__ = []',
    '  training : bool',
    '  def forward(self: __torch__.Slow,',
    '    x: Tensor) -> Tensor:',
    ...Array.from({ length: 10 }, (_, i) => `    y${i} = torch.exp(x)`),
    '    return y9\n',
  ];
  // An object of that class with only `training`: false.
  const object = '\x80\x02c__torch__\nSlow\n)\x81}(X\x08\0\0\0training\x89ub.';
  const entries = {
    'data.pkl': object,
    'code/__torch__.py': code.join('\n'),
    'constants.pkl': '\x80\x02).',
    version: '3\n',
  };
  for (const [name, text] of Object.entries(entries)) zip.add(`slow/${name}`, Buffer.from(text, 'latin1'));
  zip.end();
  return Buffer.concat(parts);
}

let folder = '';

/** For beforeAll. `count` zeros are in each file. */
export async function makeFiles(count: number): Promise<Files> {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-works-'));
  const at = (name: string) => path.join(folder, name);
  const files = {
    external: at('external.node'),
    model: at('model.pt'),
    safetensors: at('x.safetensors'),
    npy: at('x.npy'),
    torch: at('x.pt'),
  };
  const source = path.join(__dirname, 'programs/external.c');
  const { code, stderr } = await run('cc', ['-shared', '-fPIC', '-o', files.external, source], { env: ordinaryEnv() });
  if (code !== 0) throw new Error(stderr);
  fs.writeFileSync(files.model, slowModel());
  torch.scope(() => {
    const x = torch.zeros([count]);
    torch.safetensors.save(files.safetensors, { x });
    torch.npy.save(files.npy, x);
    torch.save(x, files.torch);
  });
  return files;
}

/** For afterAll. */
export const removeFiles = (): void => fs.rmSync(folder, { recursive: true, force: true });

/** A limit for beforeAll: a compiler on a busy machine. */
export const FILES_MS = limitMs(120_000);
