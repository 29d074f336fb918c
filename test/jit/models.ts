/** The models of models.py, made once in a run of Jest: no test writes to their files. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { once } from '../support/once';
import { python3 } from '../support/python3';
import { limitMs } from '../support/sanitized';
import { ROOT, torch } from '../support/torch';

let folder = '';

/** A limit for beforeAll: Python, tracing and scripting on a busy machine. */
export const MODELS_MS = limitMs(300_000);

/** For beforeAll. */
export async function makeModels(): Promise<void> {
  folder = await once('jit-models', async (at) => {
    const script = path.join(ROOT, 'test/jit/models.py');
    const { code, stderr } = await python3([script, at], { limitMs: 300_000 });
    if (code !== 0) throw new Error(`PyTorch made no models: ${stderr}`);
  });
}

export const pathOf = (name: string): string => path.join(folder, `${name}.pt`);
export const bytesOf = (name: string): Buffer => fs.readFileSync(pathOf(name));
export const model = (name: string) => torch.jit.load(pathOf(name));

/** PyTorch's inputs and results. */
export const valuesOf = (name: string): { inputs: any[]; output: any } =>
  torch.load(path.join(folder, `${name}.values.pt`)) as { inputs: any[]; output: any };
