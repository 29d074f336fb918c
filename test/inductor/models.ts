/** The packages of models.py, in a folder that is removed after the tests of the file. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT, torch } from '../support/torch';

let folder = '';

/** A limit for beforeAll: Python, and a C++ compiler for each model. */
export const PACKAGES_MS = limitMs(600_000);

/** For beforeAll. */
export async function makePackages(): Promise<void> {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-inductor-'));
  const script = path.join(ROOT, 'test/inductor/models.py');
  const env = { ...ordinaryEnv(), TORCHINDUCTOR_CACHE_DIR: path.join(folder, 'cache') };
  const { code, stderr } = await run('/usr/bin/python3', [script, folder], { env, limitMs: 600_000 });
  if (code !== 0) throw new Error(`PyTorch made no packages: ${stderr}`);
}

/** For afterAll. */
export function removePackages(): void {
  fs.rmSync(folder, { recursive: true, force: true });
}

export const pathOf = (name: string): string => path.join(folder, `${name}.pt2`);
export const load = (name: string, options = {}) => torch.inductor.aotiLoadPackage(pathOf(name), options);

/** PyTorch's positional and named inputs, and its results. */
export const valuesOf = (name: string): { inputs: any[]; named: any; output: any } =>
  torch.load(path.join(folder, `${name}.values.pt`)) as { inputs: any[]; named: any; output: any };

/** Like PyTorch's results, with the same nesting. */
export function expectSame(value: any, wanted: any): void {
  if (Array.isArray(wanted)) {
    expect(value.length).toBe(wanted.length);
    for (const [i, part] of wanted.entries()) expectSame(value[i], part);
  } else if (wanted instanceof torch.Tensor) {
    expect([value.dtype, value.shape]).toEqual([wanted.dtype, wanted.shape]);
    expect(value.allclose(wanted, { rtol: 1e-5, atol: 1e-6 })).toBe(true);
  } else {
    expect(Object.keys(value)).toEqual(Object.keys(wanted));
    for (const key of Object.keys(wanted)) expectSame(value[key], wanted[key]);
  }
}
