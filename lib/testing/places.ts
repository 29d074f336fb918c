/**
 * Original source lines. Test runners that compile in memory (Jest, Vitest) keep their source maps private and translate
 * through `Error.prepareStackTrace`, so positions are passed through that in the form of V8's call sites.
 */
import { AssertionError } from 'node:assert';
import * as path from 'node:path';
import { native } from '../addon/native';
import { original } from '../observe/audit/positions';
import { scriptPath } from '../observe/audit/script-path';
import type { Frame } from '../observe/audit/stack';
import { framesOf } from '../observe/watch';

/** The line that made tensors. */
export interface Place {
  /** Null if the stack is unknown. */
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
  readonly function: string;
  /** The lines "    at fn (file:line:column)". */
  readonly stack: string;
}

const no = () => false;
const nothing = () => null;

/** A call site for stack formatters. Its methods are on the prototype, because some formatters copy them from there. */
function callSite({ file, line, column, function: name }: Frame): object {
  const methods = {
    getFileName: () => file,
    getScriptNameOrSourceURL: () => file,
    getLineNumber: () => line,
    getColumnNumber: () => column,
    getFunctionName: () => name,
    getTypeName: nothing,
    getMethodName: nothing,
    getFunction: () => undefined,
    getThis: () => undefined,
    getEvalOrigin: () => undefined,
    getPromiseIndex: nothing,
    isToplevel: () => true,
    isNative: no,
    isEval: no,
    isConstructor: no,
    isAsync: no,
    isPromiseAll: no,
    toString: () => `${name} (${file}:${line}:${column})`,
  };
  return Object.create(methods);
}

/** A Jest test has its own globals, but Node falls back to the main ones, where Jest installs its translation. */
const errors = [Error, Object.getPrototypeOf(AssertionError) as ErrorConstructor];

function throughRunner(frame: Frame): Frame | undefined {
  for (const { prepareStackTrace } of errors) {
    if (typeof prepareStackTrace !== 'function') continue;
    let text: unknown;
    try {
      text = prepareStackTrace(new Error('site'), [callSite(frame) as NodeJS.CallSite]);
    } catch {
      continue; // a custom formatter that needs more than these methods
    }
    const found = typeof text === 'string' ? /\n\s+at (?:.* \()?(.+?):(\d+):(\d+)\)?$/.exec(text) : null;
    if (found === null) continue;
    const [, file, line, column] = found as unknown as [string, string, string, string];
    const moved = { ...frame, file: scriptPath(file), line: Number(line), column: Number(column) };
    if (moved.file !== frame.file || moved.line !== frame.line || moved.column !== frame.column) return moved;
  }
  return undefined;
}

function written(frame: Frame): Frame {
  return throughRunner(frame) ?? { ...original(frame), function: frame.function };
}

/** The place of a site of the watch, with its stack up to the measured function. */
export function placeOf(site: number): Place {
  const all = framesOf(native, site);
  const ours = all.findIndex(({ file }) => path.dirname(file) === __dirname);
  const [first, ...others] = ours < 0 ? all : all.slice(0, ours);
  if (first === undefined) return { file: null, line: 0, column: 0, function: '', stack: '' };
  const frames = [first, ...others].map(written);
  const lines = frames.map(({ file, line, column, function: name }) =>
    name === '' ? `    at ${file}:${line}:${column}` : `    at ${name} (${file}:${line}:${column})`,
  );
  const { file, line, column, function: name } = frames[0]!;
  return { file, line, column, function: name, stack: lines.join('\n') };
}
