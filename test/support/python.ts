/** PyTorch as the oracle: Debian's python3-torch, which runs on the same libtorch. */
import * as path from 'node:path';
import { run } from './child';
import { ordinaryEnv } from './sanitized';
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

/** Evaluates the expressions in PyTorch, all in one process. Fails with the reason if PyTorch is missing. */
export async function python(expressions: string[]): Promise<Answer[]> {
  const script = path.join(ROOT, 'test/calls/oracle.py');
  const { code, stdout, stderr } = await run('/usr/bin/python3', [script], {
    input: JSON.stringify(expressions),
    env: ordinaryEnv(),
  });
  if (code !== 0) throw new Error(`the PyTorch oracle failed: ${stderr}`);
  return JSON.parse(stdout) as Answer[];
}
