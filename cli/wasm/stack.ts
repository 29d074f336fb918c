/** Stacks of the program that makes a WebAssembly.Memory. */
import { sep } from 'node:path';
import { inSource } from '../../lib/observe/audit/compiled';
import { nameOfScript, scriptPath } from '../../lib/observe/audit/script-path';
import type { Frame } from '../capture/records';

const FRAMES = 32;

/** The stack of the caller of `below`, without Node's frames and those of this folder, in the lines of the sources. */
export const captureStack = (below: (...args: never[]) => unknown): Frame[] => framesBelow(below).map(inSource);

function framesBelow(below: (...args: never[]) => unknown): Frame[] {
  const holder: { stack?: NodeJS.CallSite[] } = {};
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, sites) => sites;
    Error.captureStackTrace(holder, below);
    const sites = holder.stack;
    if (!Array.isArray(sites)) return [];
    return sites
      .map((site) => ({
        file: scriptPath(nameOfScript(site) ?? ''),
        line: site.getLineNumber() ?? 0,
        column: site.getColumnNumber() ?? 0,
        function: site.getFunctionName() ?? '',
      }))
      .filter(({ file }) => file !== '' && !file.startsWith(__dirname + sep) && !file.startsWith('node:'));
  } catch {
    return []; // a frozen Error: continue without a stack
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}
