/** PyTorch as the oracle: Debian's python3-torch, which runs on the same libtorch. */
import * as path from 'node:path';
import { python3 } from './python3';
import { ROOT } from './torch';

export interface PythonTensor {
  dtype: string;
  shape: number[];
  data: unknown[];
  text: string;
}

export interface Answer {
  value?: PythonTensor | PythonTensor[] | unknown;
  error?: string;
}

/** Evaluates the expressions in PyTorch. Fails with the reason if PyTorch is missing. */
export async function python(expressions: string[]): Promise<Answer[]> {
  const oracle = path.join(ROOT, 'test/calls/oracle.py');
  const { stdout, stderr } = await python3([oracle], { input: `${JSON.stringify(expressions)}\n` });
  const line = /^\[(?:\{.*|\])$/m.exec(stdout)?.[0]; // libraries print too
  if (line === undefined) throw new Error(`the PyTorch oracle failed: ${stderr}`);
  return JSON.parse(line) as Answer[];
}
