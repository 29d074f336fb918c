/** `--follow-children`: each child writes a file next to the capture; at the end they are joined. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { CaptureWriter } from './copy';

/** Finds the files of children, which lib/observe/recording.ts names. */
export function childrenOf(file: string): { file: string; pid: number }[] {
  const folder = path.dirname(path.resolve(file));
  const base = `${path.basename(file)}.`;
  return entriesOf(folder)
    .filter((entry) => entry.isFile()) // children create only regular files
    .map(({ name }) => ({
      name,
      match: name.startsWith(base) && /^(\d+)(-\d+)?\.child$/.exec(name.slice(base.length)),
    }))
    .filter(({ match }) => match)
    .map(({ name, match }) => ({ file: path.join(folder, name), pid: Number((match as RegExpExecArray)[1]) }))
    .sort((a, b) => a.pid - b.pid || (a.file < b.file ? -1 : 1));
}

/** None if the folder was removed while the program ran: the capture itself is still open. */
function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Removes the files of an earlier interrupted run. */
export function removeChildren(file: string): void {
  for (const child of childrenOf(file)) fs.rmSync(child.file, { force: true });
}

/** Adds the children's packets to the capture at `file`, and removes their files. Returns how many there were. */
export function joinChildren(file: string): number {
  const children = childrenOf(file);
  if (children.length === 0) return 0;
  const writer = new CaptureWriter(file);
  try {
    writer.copy(file);
    for (const child of children) addChild(writer, child);
    writer.finish();
  } catch (error) {
    writer.abandon();
    throw error;
  }
  for (const child of children) fs.rmSync(child.file, { force: true });
  return children.length;
}

/** Adds a child. If its file is invalid or has no start packet, its events count as lost. */
function addChild(writer: CaptureWriter, child: { file: string; pid: number }): void {
  writer.process({ pid: child.pid });
  let whole = false;
  try {
    whole = writer.copy(child.file).hasStart;
  } catch {
    // Not a capture or not readable: lost, like an empty file.
  }
  if (!whole) writer.loss();
}
