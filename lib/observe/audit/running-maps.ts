/**
 * The source maps inside code that was compiled in memory by nyc, an ESM loader, or a bundler whose modules are evaluated. No other
 * code of this thread may know them: Node does only with `--enable-source-maps`, and an ESM loader keeps its maps in its own
 * thread.
 */
import type { SourceMap } from 'node:module';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { scriptPath } from './script-path';
import { inlineMap, parseMap } from './source-map';
import { mapUrl, sourceText } from './source-text';
import type { Frame } from './stack';

/** By script: the `data:` URL that its running code names as its map. */
const urls = new Map<string, string>();
/** By script; undefined for one whose map is that of its file, or invalid. */
const maps = new Map<string, SourceMap | undefined>();

/** Remembers what the running code of a script names as its source map. */
export function noteMap(script: string, url: string | undefined): void {
  if (url?.startsWith('data:') === true) urls.set(script, url);
}

/** The position to which the map in the running code moves a frame; undefined without one, or if it is that of the file. */
export function throughRunning(frame: Frame): Frame | undefined {
  if (!maps.has(frame.file)) {
    const url = urls.get(frame.file);
    if (url === undefined) return undefined;
    maps.set(frame.file, read(frame.file, url));
    urls.delete(frame.file);
  }
  const entry = maps.get(frame.file)?.findEntry(frame.line - 1, Math.max(0, frame.column - 1));
  if (entry === undefined || !('originalSource' in entry) || entry.originalSource === undefined) return undefined;
  const { originalSource, originalLine, originalColumn } = entry;
  return { ...frame, file: scriptPath(originalSource), line: originalLine + 1, column: originalColumn + 1 };
}

function read(script: string, url: string): SourceMap | undefined {
  try {
    if (namedByFile(script) === url) return undefined; // leak-audit reads the file itself
    return parseMap(inlineMap(url) ?? '', path.isAbsolute(script) ? pathToFileURL(script) : new URL(script));
  } catch {
    return undefined; // not a valid source map, or not a URL
  }
}

/** What the file of a script names as its source map. */
function namedByFile(script: string): string | undefined {
  try {
    return path.isAbsolute(script) ? mapUrl(sourceText(script) ?? '') : undefined;
  } catch {
    return undefined; // no such file
  }
}
