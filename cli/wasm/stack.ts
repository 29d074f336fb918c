/** Stacks of the program that makes a WebAssembly.Memory. */
import { sep } from 'node:path';
import { callSites } from '../../lib/observe/audit/call-sites';
import { inSource } from '../../lib/observe/audit/compiled';
import { nameOfScript, scriptPath } from '../../lib/observe/audit/script-path';
import type { Frame } from '../capture/records';

const FRAMES = 32;

/** The stack of the caller, without Node's frames and those of this folder, in the lines of the sources. */
export function captureStack(): Frame[] {
  return callSites(FRAMES, captureStack)
    .map((site) => ({
      file: scriptPath(nameOfScript(site) ?? ''),
      line: site.getLineNumber() ?? 0,
      column: site.getColumnNumber() ?? 0,
      function: site.getFunctionName() ?? '',
    }))
    .filter(({ file }) => file !== '' && !file.startsWith(__dirname + sep) && !file.startsWith('node:'))
    .map(inSource);
}
