/** Maps positions in the executed JavaScript to positions in the original source. */
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  AnyMap,
  GREATEST_LOWER_BOUND,
  LEAST_UPPER_BOUND,
  originalPositionFor,
  type TraceMap,
} from '@jridgewell/trace-mapping';
import { scriptPath } from '../../lib/observe/audit/script-path';
import type { Frame } from '../capture/records';
import { readRegular } from '../files/regular-file';
import { isModule, moduleFile } from './bundled';

const COMMENT = /^[ \t]*(?:\/\/[#@]|\/\*[#@])[ \t]*sourceMappingURL=([^\s'"*]+)/gm;

/** For a code file and for a map; bundles have about 10 MiB. */
const MAX_BYTES = 64 * 2 ** 20;
/** Files read, lines and segments decoded (about 80 bytes each), and names of sources. */
const LIMITS = { files: 20_000, segments: 4_000_000, sources: 200_000 };

/** Resolves through `//# sourceMappingURL=`, inline or beside the file. Without a map, positions are unchanged. */
export class SourceMaps {
  private readonly maps = new Map<string, TraceMap | undefined>();
  /** By folder and name. */
  private readonly modules = new Map<string, string>();
  /** Remaining budget for all maps together, because a capture can name any number of files. */
  private readonly room = { ...LIMITS };

  resolve(frame: Frame): Frame {
    const map = this.mapOf(frame.file);
    // A module that a bundler evaluates was found in the program, by the map in its code.
    if (map === undefined)
      return isModule(frame.file) ? { ...frame, file: this.moduleFile(frame.file, process.cwd()) } : frame;
    const found = frame.line < 1 ? undefined : originalOf(map, frame);
    if (found === undefined) return frame;
    return {
      file: this.moduleFile(scriptPath(found.source), path.dirname(frame.file)),
      line: found.line,
      column: found.column + 1,
      function: frame.function,
    };
  }

  /** Whether the file was made of several sources. */
  isBundle(file: string): boolean {
    return (this.mapOf(file)?.sources.length ?? 0) > 1;
  }

  private moduleFile(name: string, folder: string): string {
    if (!isModule(name)) return name;
    const key = `${folder}\n${name}`;
    let file = this.modules.get(key);
    if (file === undefined) {
      file = moduleFile(name, folder);
      this.modules.set(key, file);
    }
    return file;
  }

  private mapOf(file: string): TraceMap | undefined {
    if (!this.maps.has(file)) this.maps.set(file, path.isAbsolute(file) ? this.load(file) : undefined);
    return this.maps.get(file);
  }

  private load(file: string): TraceMap | undefined {
    if (this.room.files === 0) return undefined;
    this.room.files--;
    try {
      const code = readRegular(file, MAX_BYTES);
      const url = code === undefined ? undefined : lastUrl(code);
      if (url === undefined) return undefined;
      const inline = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url);
      if (inline !== null) {
        const text =
          inline[1] === undefined ? decodeURIComponent(inline[2]!) : Buffer.from(inline[2]!, 'base64').toString();
        return this.trace(text, pathToFileURL(file).href);
      }
      const mapUrl = new URL(url, pathToFileURL(file));
      if (mapUrl.protocol !== 'file:') return undefined;
      const text = readRegular(mapUrl, MAX_BYTES);
      return text === undefined ? undefined : this.trace(text, mapUrl.href);
    } catch {
      return undefined; // no file, no map, or an invalid one
    }
  }

  /** Undefined if it exceeds the budget. The text of the sources is not kept. */
  private trace(text: string, url: string): TraceMap | undefined {
    const { sourcesContent, ...map } = JSON.parse(text) as { sourcesContent?: unknown; mappings?: string };
    const { segments, sources } = sizeOf(map);
    if (segments > this.room.segments || sources > this.room.sources) return undefined;
    this.room.segments -= segments;
    this.room.sources -= sources;
    // Throws for invalid content; the caller then works without a map.
    return new AnyMap(map as ConstructorParameters<typeof TraceMap>[0], url);
  }
}

/** Undefined if the map has none, or an impossible one: a source that it does not list, or a line before the first. */
function originalOf(
  map: TraceMap,
  { line, column }: Frame,
): { source: string; line: number; column: number } | undefined {
  const needle = { line, column: Math.max(0, column - 1) };
  try {
    let found = originalPositionFor(map, { ...needle, bias: GREATEST_LOWER_BOUND });
    if (found.source === null) found = originalPositionFor(map, { ...needle, bias: LEAST_UPPER_BOUND });
    const { source, line: at, column: before } = found;
    if (typeof source !== 'string' || source.endsWith('/')) return undefined; // a source may be null
    return isCount(at, 1) && isCount(before, 0) ? { source, line: at, column: before } : undefined;
  } catch {
    return undefined; // decoded mappings, which are not checked before
  }
}

const isCount = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least;

interface Sized {
  mappings?: unknown;
  sources?: unknown;
  /** In an index map, which consists of other maps. */
  sections?: unknown;
}

function sizeOf({ mappings, sources, sections }: Sized): { segments: number; sources: number } {
  const size = { segments: 0, sources: Array.isArray(sources) ? sources.length : 0 };
  if (typeof mappings === 'string') for (const one of mappings) if (one === ',' || one === ';') size.segments++;
  for (const section of Array.isArray(sections) ? sections : []) {
    const inner = sizeOf((section as { map: Sized }).map);
    size.segments += inner.segments;
    size.sources += inner.sources;
  }
  return size;
}

function lastUrl(code: string): string | undefined {
  let url: string | undefined;
  for (const found of code.matchAll(COMMENT)) url = found[1];
  return url;
}
