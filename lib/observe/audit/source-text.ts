/** What a source file says of its source map. */
import { readRegular } from './regular-file';

const COMMENT = /^[ \t]*(?:\/\/[#@]|\/\*[#@])[ \t]*sourceMappingURL=([^\s'"*]+)/gm;

/** The largest source file or map that is read: bundles have some 10 MiB. */
const MAX_BYTES = 64 * 2 ** 20;

/** The text of a source file or a map; undefined if it is not a regular file or is too large. Throws if it cannot be opened. */
export const sourceText = (file: string | URL): string | undefined => readRegular(file, MAX_BYTES);

/** The URL of the last comment, as for Node. */
export function mapUrl(code: string): string | undefined {
  let url: string | undefined;
  for (const found of code.matchAll(COMMENT)) url = found[1];
  return url;
}
