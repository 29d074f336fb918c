/** PyTorch as the oracle: Debian's python3-torch, which runs on the same libtorch. */
import { spawn } from 'node:child_process';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
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

/** The process of a test file: importing PyTorch takes seconds. */
let oracle: Oracle | undefined;
afterAll(() => oracle?.child.kill());

class Oracle {
  readonly child = spawn('/usr/bin/python3', [path.join(ROOT, 'test/calls/oracle.py')], { env: ordinaryEnv() });
  private readonly lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  private stderr = '';

  constructor() {
    this.child.stderr.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.child.stdin.on('error', () => {}); // it may end before it has read everything
  }

  async evaluated(expressions: string[]): Promise<Answer[]> {
    this.child.stdin.write(`${JSON.stringify(expressions)}\n`);
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done) throw new Error(`the PyTorch oracle failed: ${this.stderr}`);
      if (/^\[(\{|\]$)/.test(value)) return JSON.parse(value) as Answer[]; // libraries print too
    }
  }
}

/** Evaluates the expressions in PyTorch, those of a file in one process. Fails with the reason if PyTorch is missing. */
export function python(expressions: string[]): Promise<Answer[]> {
  oracle ??= new Oracle();
  return oracle.evaluated(expressions);
}
