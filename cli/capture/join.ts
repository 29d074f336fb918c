/** `--follow-children`: each child writes a file of its own next to the capture; at the end they become one. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { CaptureWriter } from './copy';

/** As lib/audit/children.ts names them. */
export function childrenOf(file: string): { file: string; pid: number }[] {
  const folder = path.dirname(path.resolve(file));
  const base = `${path.basename(file)}.`;
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile()) // a link or a pipe of that name was made by nobody's child
    .map(({ name }) => ({
      name,
      match: name.startsWith(base) && /^(\d+)(-\d+)?\.child$/.exec(name.slice(base.length)),
    }))
    .filter(({ match }) => match)
    .map(({ name, match }) => ({ file: path.join(folder, name), pid: Number((match as RegExpExecArray)[1]) }))
    .sort((a, b) => a.pid - b.pid || (a.file < b.file ? -1 : 1));
}

/** Removes what an earlier run that was interrupted left behind. */
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

/** A child that never got to write its first packet, or whose file is none, has lost events: nothing else tells of it. */
function addChild(writer: CaptureWriter, child: { file: string; pid: number }): void {
  writer.process({ pid: child.pid });
  let whole = false;
  try {
    whole = writer.copy(child.file).hasStart;
  } catch {
    // Not a capture, or it cannot be read: lost like an empty one.
  }
  if (!whole) writer.loss();
}
