/** Where a site is, as people write it. */
import * as path from 'node:path';

/** `src/a.ts`, with slashes; as it is where it lies outside `folder`. */
export function relativeFile({ file }: { file: string }, folder: string): string {
  if (!path.isAbsolute(file)) return file;
  const relative = path.relative(folder, file);
  const outside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.split(path.sep).join('/');
}

/** `src/a.ts:3:7`, or relative to the working folder where that is shorter. */
export function position(site: { file: string; line: number; column: number }, folder: string): string {
  if (site.line === 0) return site.file;
  const relative = path.isAbsolute(site.file) ? path.relative(folder, site.file) : site.file;
  const file = relative.startsWith('..') ? site.file : relative;
  return `${file}:${site.line}:${site.column}`;
}
