/** Reads source maps, which name their sources relative to themselves. */
import { SourceMap, type SourceMapPayload } from 'node:module';

/** The text of the map that a `data:` URL contains; undefined for another URL. Throws if it is invalid. */
export function inlineMap(url: string): string | undefined {
  const inline = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url);
  if (inline === null) return undefined;
  return inline[1] === undefined ? decodeURIComponent(inline[2]!) : Buffer.from(inline[2]!, 'base64').toString();
}

/** The map with whole URLs as its sources. `base`: where it, or the code that contains it, is. Throws if it is invalid. */
export function parseMap(text: string, base: URL): SourceMap {
  const { sourcesContent, ...rest } = JSON.parse(text) as SourceMapPayload;
  const payload = { ...rest, sourcesContent: [] }; // not needed here, and the largest part of a map
  const root = new URL(payload.sourceRoot ? `${payload.sourceRoot.replace(/\/?$/, '/')}` : '.', base);
  return new SourceMap({ ...payload, sources: payload.sources?.map((source) => new URL(source, root).href) });
}
