/** From positions in the JavaScript that ran to positions in the source that people wrote. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GREATEST_LOWER_BOUND, LEAST_UPPER_BOUND, originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import type { Frame } from './capture/capture';

const COMMENT = /^[ \t]*(?:\/\/[#@]|\/\*[#@])[ \t]*sourceMappingURL=([^\s'"*]+)/gm;

/** Resolves through `//# sourceMappingURL=`, inline or beside the file. Without a map, positions stay as they are. */
export class SourceMaps {
  private readonly maps = new Map<string, TraceMap | undefined>();

  resolve(frame: Frame): Frame {
    const map = this.mapOf(frame.file);
    if (map === undefined || frame.line < 1) return frame;
    const needle = { line: frame.line, column: Math.max(0, frame.column - 1) };
    let found = originalPositionFor(map, { ...needle, bias: GREATEST_LOWER_BOUND });
    if (found.source === null) found = originalPositionFor(map, { ...needle, bias: LEAST_UPPER_BOUND });
    if (found.source === null) return frame;
    return {
      file: toPath(found.source),
      line: found.line,
      column: found.column + 1,
      function: frame.function,
    };
  }

  private mapOf(file: string): TraceMap | undefined {
    if (!this.maps.has(file)) this.maps.set(file, path.isAbsolute(file) ? loadMap(file) : undefined);
    return this.maps.get(file);
  }
}

function loadMap(file: string): TraceMap | undefined {
  try {
    const code = fs.readFileSync(file, 'utf8');
    const url = [...code.matchAll(COMMENT)].at(-1)?.[1];
    if (url === undefined) return undefined;
    const inline = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url);
    if (inline !== null) {
      const text =
        inline[1] === undefined ? decodeURIComponent(inline[2]!) : Buffer.from(inline[2]!, 'base64').toString();
      return new TraceMap(text, pathToFileURL(file).href);
    }
    const mapUrl = new URL(url, pathToFileURL(file));
    if (mapUrl.protocol !== 'file:') return undefined;
    return new TraceMap(fs.readFileSync(mapUrl, 'utf8'), mapUrl.href);
  } catch {
    return undefined; // no file, no map, or a broken one
  }
}

function toPath(source: string): string {
  if (!source.startsWith('file:')) return source;
  try {
    return fileURLToPath(source);
  } catch {
    return source;
  }
}
