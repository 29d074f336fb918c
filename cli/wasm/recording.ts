/** `run --wasm`: activates the recording in the program, and reads it afterwards. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { WasmReport } from '../analysis/wasm-report';
import { temporaryFolder } from '../capture/reserve';
import { parseRecords } from './records';
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
    return wasmReport(isThere ? parseRecords(fs.readFileSync(this.file, 'utf8')) : []);
  }

  close(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
