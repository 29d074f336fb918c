/** The image files in the folders of an ImageFolder. Symbolic links count as what they lead to, as in torchvision. */
import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

const IMAGES = /\.(jpe?g|png|webp|gif|tiff?|avif|bmp|ppm|pgm|pbm)$/i;

/** Whether a link leads to a folder. One that leads nowhere or to itself does not: whoever reads it as an image learns that. */
function leadsToFolder(link: string): boolean {
  try {
    return statSync(link, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') return false;
    throw error;
  }
}

const isFolder = (entry: Dirent, path: string): boolean =>
  entry.isSymbolicLink() ? leadsToFolder(path) : entry.isDirectory();

/** The names of the folders in a folder, in order. */
export function foldersIn(root: string): string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  return entries
    .filter((entry) => isFolder(entry, join(root, entry.name)))
    .map(({ name }) => name)
    .sort();
}

/** The images in a folder and those in it, from `root` on. `around`: the folders that lead here, to which a link may lead back. */
function* imagesBelow(root: string, inner: string, around: readonly string[]): Generator<string> {
  const folder = join(root, inner);
  const real = realpathSync(folder);
  if (around.includes(real)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const name = join(inner, entry.name);
    if (isFolder(entry, join(root, name))) yield* imagesBelow(root, name, [...around, real]);
    else if (IMAGES.test(name)) yield name;
  }
}

/** The names of the images in a folder and those in it, in order. */
export const imagesIn = (folder: string): string[] => [...imagesBelow(folder, '', [])].sort();
