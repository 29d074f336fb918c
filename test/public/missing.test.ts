/** The table of missing names: it does not list existing names, and lists all missing ones. */
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { LIB, ROOT, torch, untyped } from '../support/torch';
import { fitting, hasPartsOf, isMissing, isPattern, listed, rows } from './missing';

interface Told {
  version: string;
  pytorch: Record<string, string[]>;
  others: Record<string, string[]>;
  left_out: { namespace: string; names: string[] }[];
}
const { camelCase } = require(path.join(LIB, 'call/signature.js')) as { camelCase(name: string): string };

let told: Told;
beforeAll(async () => {
  const args = [path.join(ROOT, 'test/public/names.py'), path.join(ROOT, 'codegen/spec/public.yaml')];
  const { code, stdout, stderr } = await python3(args);
  if (code !== 0) throw new Error(`names.py (it needs PyTorch and PyYAML): ${stderr}`);
  told = JSON.parse(stdout);
});

/** The value here for one of PyTorch's names, such as `torch.nn.functional.log_softmax`. */
function here(name: string): unknown {
  const [, ...parts] = name.split('.');
  let object: any = untyped;
  for (const [i, part] of parts.entries()) {
    // A class's own names are its methods.
    const js = camelCase(part);
    if (i > 0 && parts[i - 1] === 'Tensor') return js in torch.Tensor.prototype ? true : undefined;
    if (object === undefined || object === null || !(js in object)) return undefined;
    object = object[js];
  }
  return object;
}

const full = (space: string) => (name: string) => (space === 'torch' ? `torch.${name}` : `torch.${space}.${name}`);
const functionsOf = (space: string) => (told.pytorch[space] ?? []).map(full(space));
const othersOf = (space: string) => (told.others[space] ?? []).map(full(space));
const spaces = () => [...new Set([...Object.keys(told.pytorch), ...Object.keys(told.others)])];
const outOf = (space: string) =>
  told.left_out.filter(({ namespace }) => namespace === space).flatMap(({ names }) => names);

it('the table has the names that users look for first', () => {
  for (const name of [
    'torch.nn.utils.stateless',
    'torch.utils.data.get_worker_info',
    'torch.multiprocessing',
    'torch.amp.custom_fwd',
  ])
    expect([name, isMissing(name)]).toEqual([name, true]);
  for (const name of ['torch.cuda.amp', 'torch.func', 'torch.vmap', 'torch.compile', 'torch.profiler', 'torch.hub'])
    expect([name, isMissing(name)]).toEqual([name, true]);
  for (const name of [
    'torch.matmul',
    'torch.Tensor',
    'torch.Tensor.add',
    'torch.nn.functional',
    'torch.nn.Module',
    'torch.no_grad',
  ])
    expect([name, isMissing(name)]).toEqual([name, false]);
  expect(rows.filter(({ what, meanwhile }) => what.length < 10 || meanwhile.length < 10)).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
});

it('names in the table do not exist', () => {
  expect(listed.filter((name) => !isPattern(name) && here(name) !== undefined)).toEqual([]);
  const all = [...spaces().flatMap(functionsOf), ...spaces().flatMap(othersOf)];
  for (const pattern of listed.filter(isPattern))
    expect([pattern, fitting(pattern, all).filter((name) => here(name) !== undefined)]).toEqual([pattern, []]);
});

it('missing functions of PyTorch are in the table, or left out with a reason, not both', () => {
  for (const space of Object.keys(told.pytorch)) {
    const out = new Set(outOf(space).map(full(space)));
    const missing = functionsOf(space).filter((name) => here(name) === undefined && !out.has(name) && !isMissing(name));
    expect([space, missing]).toEqual([space, []]);
    expect([space, [...out].filter(isMissing)]).toEqual([space, []]);
  }
});

it('missing classes, modules and values of PyTorch are in the table, or left out with a reason', () => {
  // The names of the release for which the table was written; later ones expose more internals.
  if (!told.version.startsWith('1.13.')) return;
  for (const space of Object.keys(told.others)) {
    if (here(`torch.${space}`) === undefined && hasPartsOf(`torch.${space}`)) continue; // missing as a whole, as the table says of its parts
    const out = outOf(space).map(full(space));
    const missing = othersOf(space).filter(
      (name) => here(name) === undefined && !out.includes(name) && !isMissing(name) && !hasPartsOf(name),
    );
    expect([space, missing]).toEqual([space, []]);
  }
  expect(told.others.torch!.length).toBeGreaterThan(150);
});
