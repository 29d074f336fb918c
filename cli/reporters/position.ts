/** The position of a site as text. */
import * as path from 'node:path';

/** `src/a.ts`, with slashes; unchanged if it is outside `folder`. */
export function relativeFile({ file }: { file: string }, folder: string): string {
  if (!path.isAbsolute(file)) return file;
  const relative = path.relative(folder, file);
  const outside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.split(path.sep).join('/');
}

/** `src/a.ts:3:7`, relative to `folder` for files below it. */
export function position(site: { file: string; line: number; column: number }, folder: string): string {
  if (site.line === 0) return site.file;
  const relative = path.isAbsolute(site.file) ? path.relative(folder, site.file) : site.file;
  const file = relative.startsWith('..') ? site.file : relative;
  return `${file}:${site.line}:${site.column}`;
}
