/** codegen/spec/public.yaml, what is written in lib/public, and PyTorch's namespaces tell the same. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { LIB, ROOT, torch, untyped } from '../support/torch';
import { isMissing } from './missing';

interface Entry {
  name: string;
  schemas: string[];
  spaces: string[];
  file: string;
  needs: string | null;
  reason: string;
}
interface Told {
  pytorch: Record<string, string[]>;
  constants: Record<string, string>;
  functions: Entry[];
  namespaces: { space: string; ops: string[]; aliases: Record<string, string>; open?: boolean; reason: string }[];
  left_out: { namespace: string; names: string[]; reason: string; older?: boolean }[];
}

const { camelCase } = require(path.join(LIB, 'call/signature.js')) as { camelCase(name: string): string };
const { arities } = require(path.join(LIB, 'call/define.js')) as { arities(): [string, number[]][] };

let told: Told;
beforeAll(async () => {
  const script = path.join(ROOT, 'test/public/names.py');
  const spec = path.join(ROOT, 'codegen/spec/public.yaml');
  const { code, stdout, stderr } = await python3([script, spec]);
  if (code !== 0) throw new Error(`names.py (it needs PyTorch and PyYAML): ${stderr}`);
  told = JSON.parse(stdout);
});

/** The object of a namespace; methods are on the prototypes. */
function spaceAt(space: string): any {
  if (space === 'Tensor') return torch.Tensor.prototype;
  return space === 'torch' ? untyped : space.split('.').reduce((object, part) => object[part], untyped);
}

const leftOut = (space: string) => told.left_out.filter((entry) => entry.namespace === space);

it.each(['torch', 'nn.functional', 'linalg', 'fft', 'special', 'sparse', 'Tensor'])(
  'PyTorch’s names in %s exist, are left out with a reason, or are in the table of docs/from-pytorch.md',
  (space) => {
    const object = spaceAt(space);
    const out = leftOut(space).flatMap(({ names }) => names);
    const names = told.pytorch[space]!;
    expect(names.length).toBeGreaterThanOrEqual(10);
    const full = (name: string) => (space === 'torch' ? `torch.${name}` : `torch.${space}.${name}`);
    expect(
      names.filter((name) => !(camelCase(name) in object) && !out.includes(name) && !isMissing(full(name))),
    ).toEqual([]);
    expect(leftOut(space).filter(({ reason }) => reason.length < 20)).toEqual([]);
  },
);

it('dtypes, layouts and memory formats have all of PyTorch’s names', () => {
  expect(Object.keys(told.constants).length).toBeGreaterThan(25);
  const wrong = Object.entries(told.constants).filter(([name, value]) => untyped[camelCase(name)] !== value);
  expect(wrong).toEqual([]);
});

it('names that are left out do not exist, and are listed once', () => {
  for (const space of Object.keys(told.pytorch)) {
    const names = leftOut(space).flatMap((entry) => entry.names);
    const gone = leftOut(space).flatMap((entry) => (entry.older ? [] : entry.names));
    expect(gone.filter((name) => camelCase(name) in spaceAt(space))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  }
});

it.each(['nn.functional', 'linalg', 'fft', 'special', 'sparse'])('%s has only names of PyTorch’s', (space) => {
  const names = new Set(told.pytorch[space]!.map(camelCase));
  expect(Object.keys(spaceAt(space)).filter((name) => !names.has(name))).toEqual([]);
});

it('every function of the spec is in its file, and takes as many arguments as its signatures', () => {
  const written = new Map(arities());
  const wrong: string[] = [];
  for (const { name, schemas, spaces, file, needs } of told.functions) {
    const js = camelCase(name);
    for (const space of spaces) {
      const key = space === 'torch' ? js : `${space}.${js}`;
      const found = written.get(key);
      const wanted = schemas.map((schema) => {
        const list = /\((.*?)\) -> /.exec(schema)![1]!;
        return list === '' ? 0 : list.split(', ').filter((part) => part !== '*').length;
      });
      const fits = found !== undefined && wanted.every((count, i) => (found[i] ?? found[0]) === count);
      if (!fits) wrong.push(`${key}: ${found ?? 'not written'}, in the spec ${wanted}`);
      const wantedHere = needs === null || Object.hasOwn(untyped.ops.aten, needs);
      if (wantedHere && typeof spaceAt(space)[js] !== 'function') wrong.push(`${key} is not a function`);
      written.delete(key);
    }
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    if (!new RegExp(`\\b${js}\\b`).test(text)) wrong.push(`${js} is not in ${file}`);
  }
  expect(wrong).toEqual([]);
  expect([...written.keys()]).toEqual([]);
  expect(told.functions.filter(({ reason }) => reason.length < 10)).toEqual([]);
});

it('aliases and ops of the spec are those that libtorch has', () => {
  const known = new Set(Object.keys(untyped.ops.aten));
  // Names of later versions.
  const later = ['rms_norm', 'scaled_dot_product_attention'];
  for (const { space, ops, aliases } of told.namespaces) {
    const names = [...ops, ...Object.values(aliases)];
    expect(names.filter((name) => !known.has(name) && !later.includes(name))).toEqual([]);
    for (const [name, op] of Object.entries(aliases)) {
      if (known.has(op)) expect(`${name}: ${typeof spaceAt(space)[camelCase(name)]}`).toBe(`${name}: function`);
    }
  }
});
