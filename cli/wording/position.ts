/** The position of a site as text. */
import * as path from 'node:path';

/** `src/a.ts`, with slashes; unchanged if it is outside `folder`. */
export function relativeFile({ file }: { file: string }, folder: string): string {
  if (!path.isAbsolute(file)) return file;
  const relative = path.relative(folder, file);
  const outside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.split(path.sep).join('/');
}

/** More steps up are harder to read than the path. */
const MAX_UP = 2;
/** A longer path loses its beginning, */
const MAX_CHARACTERS = 48;
/** down to this many names. */
const KEPT = 3;

/** `src/a.ts:3:7`: relative to `folder` if it is near, else shortened from the left. */
export function position(site: { file: string; line: number; column: number }, folder: string): string {
  if (site.line === 0) return site.file;
  return `${shortFile(site.file, folder)}:${site.line}:${site.column}`;
}

/** Without its line. */
export function shortFile(file: string, folder: string): string {
  if (!path.isAbsolute(file)) return file;
  const relative = path.relative(folder, file);
  const up = relative.split(path.sep).filter((name) => name === '..').length;
  // One step up is not shown for a whole other tree, such as `../../usr/lib/x.js` from `/srv/app`.
  if (up === 0 || (up <= MAX_UP && up < folder.split(path.sep).filter(Boolean).length)) return relative;
  const names = file.split(path.sep);
  return file.length <= MAX_CHARACTERS || names.length <= KEPT + 1
    ? file
    : `…${path.sep}${names.slice(-KEPT).join(path.sep)}`;
}
