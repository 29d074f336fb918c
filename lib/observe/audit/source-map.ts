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
  return new SourceMap(withWholeUrls(JSON.parse(text) as Payload, base));
}

/** An index map consists of other maps. */
type Payload = SourceMapPayload & { sections?: { map: Payload }[] };

function withWholeUrls({ sourcesContent, sections, ...rest }: Payload, base: URL): Payload {
  const root = new URL(rest.sourceRoot ? `${rest.sourceRoot.replace(/\/?$/, '/')}` : '.', base);
  return {
    ...rest,
    sourcesContent: [], // not needed here, and the largest part of a map
    sources: rest.sources?.map((source) => new URL(source, root).href),
    ...(sections && { sections: sections.map((one) => ({ ...one, map: withWholeUrls(one.map, base) })) }),
  };
}
