/** Readable stacks: maps positions to the original source through source maps. */
import { findSourceMap, type SourceMap } from 'node:module';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { printable } from '../../libtorch/printable';
import { inSource } from './compiled';
import { throughRunning } from './running-maps';
import { scriptPath } from './script-path';
import { inlineMap, parseMap } from './source-map';
import { mapUrl, sourceText } from './source-text';
import type { Frame } from './stack';

/** By file; undefined for a file without a map. */
const maps = new Map<string, SourceMap | undefined>();

/** The lines "    at fn (file:line:column)" of a stack. */
export function stackText(frames: readonly Frame[]): string {
  return frames.map((frame) => `    at ${frameText(frame)}`).join('\n');
}

/** "fn (file:line:column)". */
export function frameText(frame: Frame): string {
  const { file, line, column } = original(frame);
  const place = `${printable(file)}:${line}:${column}`;
  return frame.function === '' ? place : `${printable(frame.function)} (${place})`;
}

/** The position of a frame in the original source, if a map is found. */
export function original(frame: Frame): Omit<Frame, 'function'> {
  const running = throughRunning(frame);
  if (running !== undefined) return running;
  const map = mapOf(frame.file);
  if (map === undefined || frame.line < 1) return inSource(frame);
  const entry = map.findEntry(frame.line - 1, Math.max(0, frame.column - 1));
  if (!('originalSource' in entry) || entry.originalSource === undefined) return frame;
  return { file: scriptPath(entry.originalSource), line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, path.isAbsolute(file) ? (findSourceMap(file) ?? load(file)) : undefined);
  return maps.get(file);
}

/** Node loads maps only with --enable-source-maps; otherwise they are read here, inline or from beside the file. */
function load(file: string): SourceMap | undefined {
  try {
    const url = mapUrl(sourceText(file) ?? '');
    if (url === undefined) return undefined;
    const inline = inlineMap(url);
    const base = inline === undefined ? new URL(url, pathToFileURL(file)) : pathToFileURL(file);
    return base.protocol === 'file:' ? parseMap(inline ?? sourceText(base) ?? '', base) : undefined;
  } catch {
    return undefined; // no file, no map, or an invalid one: positions stay unchanged
  }
}
