/** `run --wasm`: activates the recording in the program, and reads it afterwards. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { WasmReport } from '../analysis/wasm-report';
import { temporaryFolder } from '../capture/reserve';
import { MAX_RECORD_BYTES, parseRecords } from './records';
import { wasmReport } from './report';

const VARIABLE = 'LIBTORCH_NODE_WASM';
const PRELOAD = path.join(__dirname, 'preload.js');

export class WasmRecording {
  private readonly folder = temporaryFolder(os.tmpdir(), 'leak-audit-wasm-');
  private readonly file = path.join(this.folder, 'memories.jsonl');

  constructor(private readonly intervalMs: number) {}

  /** For the environment of the program. */
  variables(): Record<string, string> {
    const { NODE_OPTIONS: given = '' } = process.env;
    return {
      // The syntax of JSON strings is that of quoted options.
      NODE_OPTIONS: `--require ${JSON.stringify(PRELOAD)} ${given}`.trim(),
      [VARIABLE]: JSON.stringify({ file: this.file, intervalMs: this.intervalMs }),
    };
  }

  report(): WasmReport {
    const isThere = fs.existsSync(this.file); // no Node program ran, or it could not write
    return wasmReport(isThere ? parseRecords(beginningOf(this.file)) : []);
  }

  close(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Of a long run, the file may be larger than a string of JavaScript. */
function beginningOf(file: string): string {
  const fd = fs.openSync(file, 'r');
  try {
    const bytes = Buffer.allocUnsafe(Math.min(fs.fstatSync(fd).size, MAX_RECORD_BYTES));
    let done = 0;
    for (let n = -1; n !== 0 && done < bytes.length; done += n)
      n = fs.readSync(fd, bytes, done, bytes.length - done, done);
    return bytes.toString('utf8', 0, done);
  } finally {
    fs.closeSync(fd);
  }
}
