/** The models of models.py, in a folder that is removed after the tests of the file. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT, torch } from '../support/torch';

let folder = '';

/** A limit for beforeAll: Python, tracing and scripting on a busy machine. */
export const MODELS_MS = limitMs(300_000);

/** For beforeAll. */
export async function makeModels(): Promise<void> {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-jit-'));
  const script = path.join(ROOT, 'test/jit/models.py');
  const { code, stderr } = await run('/usr/bin/python3', [script, folder], { env: ordinaryEnv(), limitMs: 300_000 });
  if (code !== 0) throw new Error(`PyTorch made no models: ${stderr}`);
}

/** For afterAll. */
export function removeModels(): void {
  fs.rmSync(folder, { recursive: true, force: true });
}

export const pathOf = (name: string): string => path.join(folder, `${name}.pt`);
export const bytesOf = (name: string): Buffer => fs.readFileSync(pathOf(name));
export const model = (name: string) => torch.jit.load(pathOf(name));

/** PyTorch's inputs and results. */
export const valuesOf = (name: string): { inputs: any[]; output: any } =>
  torch.load(path.join(folder, `${name}.values.pt`)) as { inputs: any[]; output: any };
