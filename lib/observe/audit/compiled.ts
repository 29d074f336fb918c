/**
 * Positions in code that was compiled in memory, by tsx, ts-node, Jest or Node itself: the script has the name of its source, and
 * its source map is in no file. Only the program knows the map: the code itself contains it (running-maps.ts), Node has it
 * (`--enable-source-maps`, which tsx switches on), or a translation of stacks in `Error.prepareStackTrace` (ts-node, Jest, Vitest).
 */
import { AssertionError } from 'node:assert';
import { findSourceMap } from 'node:module';
import * as path from 'node:path';
import { restoring } from '../../errors/restoring';
import { throughRunning } from './running-maps';
import { scriptPath } from './script-path';
import { mapUrl, sourceText } from './source-text';
import type { Frame } from './stack';

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

/** Whether a formatter is at work: one that makes tensors itself would be called for their stacks without end. */
let isFormatting = false;

/** The position to which the program's translation of stacks moves a frame; undefined if it does not move it. */
export function throughFormatter(frame: Frame): Frame | undefined {
  if (isFormatting) return undefined;
  const undo = () => {
    isFormatting = false;
  };
  return restoring(undo, () => {
    isFormatting = true;
    return formatted(frame);
  });
}

function formatted(frame: Frame): Frame | undefined {
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

/** Files whose positions were translated. */
const compiled = new Set<string>();

/** Files that were compiled in memory, as far as frames of them have been translated. */
export const compiledFiles = (): string[] => [...compiled];

/**
 * The frame at the line of its source, if it was compiled in memory: by the map in the code, or else from the file of its name.
 * All other frames are unchanged: leak-audit reads their source maps from files.
 */
export function inSource(frame: Frame): Frame {
  const running = throughRunning(frame);
  if (running !== undefined) {
    compiled.add(frame.file);
    return running;
  }
  if (!path.isAbsolute(frame.file) || frame.line < 1) return frame;
  const moved = throughNode(frame) ?? (isSource(frame.file) ? throughFormatter(frame) : undefined);
  if (moved?.file !== frame.file) return frame;
  compiled.add(frame.file);
  return moved;
}

/** By file. */
const sources = new Map<string, boolean>();

/**
 * Whether a formatter may be asked about the file: it reads the file and the map that it names, as a rule without regard to pipes,
 * devices and sizes. A file that was compiled in memory is a source itself, and names no map.
 */
function isSource(file: string): boolean {
  if (!errors.some(({ prepareStackTrace }) => typeof prepareStackTrace === 'function')) return false;
  let known = sources.get(file);
  if (known === undefined) {
    known = namesNoMap(file);
    sources.set(file, known);
  }
  return known;
}

function namesNoMap(file: string): boolean {
  try {
    const text = sourceText(file);
    return text !== undefined && mapUrl(text) === undefined;
  } catch {
    return false; // no such file
  }
}

function throughNode(frame: Frame): Frame | undefined {
  const entry = findSourceMap(frame.file)?.findEntry(frame.line - 1, Math.max(0, frame.column - 1));
  if (entry === undefined || !('originalSource' in entry) || entry.originalSource === undefined) return undefined;
  const { originalSource, originalLine, originalColumn } = entry;
  return { ...frame, file: scriptPath(originalSource), line: originalLine + 1, column: originalColumn + 1 };
}
