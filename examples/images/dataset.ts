/** A folder of images with one folder for each class. sharp decodes them when they are asked for. */
import { readdirSync } from 'node:fs';
import * as path from 'node:path';
import torch, { type Tensor } from 'libtorch-node';
import sharp from 'sharp';

export const SIDE = 28;

/** The image in a file as numbers from 0 to 1, [1, SIDE, SIDE]: grey, and of that size whatever the file has. */
export async function readImage(file: string): Promise<Tensor> {
  const image = sharp(file).greyscale().resize(SIDE, SIDE, { fit: 'fill' });
  const bytes = await image.raw().toBuffer();
  return torch.scope(
    () => torch.fromTypedArray(new Uint8Array(bytes), [1, SIDE, SIDE]).to('float32').div(255) as Tensor,
  );
}

/** Samples `[image, class]`; the classes are the names of the folders, in order. */
export class Images extends torch.utils.data.Dataset {
  /** The loader's workers import this module. */
  static module = __filename;
  readonly classes: string[];
  readonly files: [file: string, label: number][];

  /** @throws Error for a folder without images */
  constructor(folder: string) {
    super();
    const entries = readdirSync(folder, { withFileTypes: true });
    this.classes = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
    this.files = this.classes.flatMap((name, label) => {
      const files = readdirSync(path.join(folder, name)).sort();
      return files.map((file): [string, number] => [path.join(folder, name, file), label]);
    });
    if (this.files.length === 0) throw new Error(`${folder}: expected folders of images, got none`);
  }

  override get length(): number {
    return this.files.length;
  }

  override async getItem(index: number): Promise<[Tensor, bigint]> {
    const [file, label] = this.files[index]!;
    return [await readImage(file), BigInt(label)];
  }
}
