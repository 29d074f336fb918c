/** Images, through the program's `sharp`: decoded, resized, cropped and flipped by libvips into the memory of a batch. */

import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { ownOptions } from '../../addon/options';
import { ops } from '../../autograd/tuples';
import { fromTypedArray, tensor } from '../../elements/create';
import { upTo } from '../../errors/arity';
import { argumentError, codedError, type TorchError } from '../../errors/errors';
import { peer } from '../../errors/peer';
import { type FilePath, pathOf } from '../../files/paths';
import { disposeAll } from '../../lifetimes/movable';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { demandIndices, placeOf } from '../arguments';
import type { SampleContext } from '../context';
import { asBatch, Dataset } from '../dataset';
import { noteFailedPlace } from '../failed-place';
import { centered, type Size, sizeOf, withShortEdge } from '../transforms/geometry';
import { below, chance, type Drawing } from '../transforms/random';
import { foldersIn, imagesIn } from './image-files';
import { sizeInHeader } from './image-header';

const FN = 'utils.data.ImageDataset';

/** The parts of sharp that are used here. */
interface Pipeline {
  metadata(): Promise<{ width: number; height: number }>;
  resize(options: object): Pipeline;
  extract(region: object): Pipeline;
  flop(): Pipeline;
  toColourspace(space: string): Pipeline;
  removeAlpha(): Pipeline;
  ensureAlpha(): Pipeline;
  raw(options: object): Pipeline;
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: Info }>;
}
interface Info {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

export type ImageChannels = 1 | 3 | 4;

export interface DecodeImageOptions {
  /** Grey, RGB or RGBA. Default: 3. */
  channels?: ImageChannels | undefined;
  /** The length of the shorter edge, or [height, width]. Default: the image's. */
  resize?: Size | undefined;
  /** The part that is kept, [height, width] or the edge of a square. */
  crop?: Size | undefined;
  /** Where the part is: in the centre, or at a random place. Default: 'center'. */
  cropAt?: 'center' | 'random' | undefined;
  /** The probability of a horizontal flip. Default: 0. */
  flip?: number | undefined;
}
const known = ['channels', 'resize', 'crop', 'cropAt', 'flip'] as const;

interface Plan {
  readonly channels: ImageChannels;
  readonly resize: Size | null;
  readonly crop: readonly [number, number] | null;
  readonly random: boolean;
  readonly flip: number;
}

function planOf(fn: string, options: DecodeImageOptions): Plan {
  const { channels = 3, resize, crop, cropAt = 'center', flip = 0 } = ownOptions(fn, options, known);
  if (channels !== 1 && channels !== 3 && channels !== 4) throw argumentError(fn, 'channels', '1, 3 or 4', channels);
  if (cropAt !== 'center' && cropAt !== 'random') throw argumentError(fn, 'cropAt', "'center' or 'random'", cropAt);
  if (!(typeof flip === 'number' && flip >= 0 && flip <= 1)) {
    throw argumentError(fn, 'flip', 'a probability from 0 to 1', flip);
  }
  if (resize !== undefined) sizeOf(fn, 'resize', resize);
  return {
    channels,
    resize: resize ?? null,
    crop: crop === undefined ? null : sizeOf(fn, 'crop', crop),
    random: cropAt === 'random',
    flip,
  };
}

/** Larger files, in bytes, are not read whole: several are decoded at the same time. */
const MAX_READ = 2 ** 24;

/**
 * The bytes of a file. libvips opens a file about 30 times to learn its format, which takes a fifth of all the time. A file that
 * is large, special or cannot be read is left to libvips, which reads it or says what is wrong. A worker may wait for the disk.
 */
async function bytesOf(file: string): Promise<string | Uint8Array> {
  try {
    const facts = isMainThread ? await stat(file) : statSync(file);
    if (!facts.isFile() || facts.size > MAX_READ) return file;
    return isMainThread ? await readFile(file) : readFileSync(file);
  } catch {
    return file; // libvips reports it
  }
}

/** The file, for messages; bytes have no name. */
const nameOf = (source: string | Uint8Array): string => (typeof source === 'string' ? `${source}: ` : '');

/** What sharp and libvips say of an image, with a code and the file. */
function fileError(fn: string, source: string | Uint8Array, error: unknown): Error {
  const { message } = Object(error) as Error;
  return Object.assign(codedError(Error, 'ERR_TORCH_FILE', `${fn}: ${nameOf(source)}${message}`), { cause: error });
}

/** Decodes an image. libvips works in libuv's thread pool. */
async function decoded(fn: string, source: string | Uint8Array, plan: Plan, context?: Drawing) {
  const sharp = peer(fn, 'sharp') as (input: string | Uint8Array) => Pipeline;
  try {
    return await decodedBy(sharp, fn, source, plan, context);
  } catch (error) {
    if ((Object(error) as TorchError).code?.startsWith('ERR_TORCH_') === true) throw error;
    throw fileError(fn, source, error);
  }
}

async function decodedBy(
  sharp: (input: string | Uint8Array) => Pipeline,
  fn: string,
  source: string | Uint8Array,
  plan: Plan,
  context?: Drawing,
) {
  const input = typeof source === 'string' ? await bytesOf(source) : source;
  let pipeline = sharp(input);
  const needsSize = plan.crop !== null || typeof plan.resize === 'number';
  let [height, width] = [0, 0];
  if (needsSize) {
    const size = typeof input === 'string' ? undefined : sizeInHeader(input);
    ({ width, height } = size ?? (await pipeline.metadata()));
  }
  if (plan.resize !== null) {
    [height, width] = typeof plan.resize === 'number' ? withShortEdge(height, width, plan.resize) : plan.resize;
    pipeline = pipeline.resize({ width, height, fit: 'fill', kernel: 'linear' });
  }
  if (plan.crop !== null) {
    const [h, w] = plan.crop;
    if (h > height || w > width) {
      const message = `${fn}: ${nameOf(source)}expected an image of at least ${h} × ${w} for the crop, got ${height} × ${width}`;
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', message);
    }
    const place = (room: number) => (plan.random ? below(room + 1, context) : centered(room));
    pipeline = pipeline.extract({ top: place(height - h), left: place(width - w), height: h, width: w });
  }
  if (plan.flip > 0 && chance(plan.flip, context)) pipeline = pipeline.flop();
  pipeline = pipeline.toColourspace(plan.channels === 1 ? 'b-w' : 'srgb');
  pipeline = plan.channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
  return pipeline.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
}

/** Memory for images in rows of pixels. */
const slabOf = (count: number, { height, width, channels }: Info): Tensor =>
  ops().empty!([count, height, width, channels], { dtype: 'uint8' });

/** Copies what sharp decoded into its place. */
function put(slab: Tensor, place: number, pixels: Uint8Array): void {
  ownScope(() => {
    const row = slab.select(0, place);
    row.copy_(fromTypedArray(pixels).view(row.shape) as Tensor);
  });
}

/** The slab as [images, channels, height, width]: a view, in the layout that torch calls channels last. */
const imagesOf = (slab: Tensor): Tensor => slab.permute([0, 3, 1, 2]) as Tensor;

function imageIn({ data, info }: { data: Uint8Array; info: Info }): Tensor {
  return ownScope(() => {
    const slab = slabOf(1, info);
    put(slab, 0, data);
    return imagesOf(slab).select(0, 0);
  }) as Tensor;
}

/**
 * An image as a uint8 tensor [channels, height, width], as `torchvision.io.decode_image` gives it.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE without sharp; ERR_TORCH_FILE with sharp's error as its cause; ERR_TORCH_ARGUMENT
 */
export async function decodeImage(input: FilePath | Uint8Array, options: DecodeImageOptions = {}): Promise<Tensor> {
  const fn = 'utils.data.decodeImage';
  const plan = planOf(fn, options);
  const source = input instanceof Uint8Array ? input : pathOf(fn, 'input', input);
  return imageIn(await decoded(fn, source, plan));
}

/** Twice the threads of libuv's pool, in which libvips decodes: while they decode, the next files are read. */
const defaultConcurrency = (): number => 2 * (Number(process.env.UV_THREADPOOL_SIZE) || 4);

export interface ImageFolderOptions extends DecodeImageOptions {
  /**
   * How many files of a batch are in progress at the same time, being read or decoded; 1 gives a worker one core. Default:
   * twice the pool's threads, so 8. libvips decodes as many at a time as the pool has threads.
   */
  concurrency?: number | undefined;
}

export interface ImageDatasetOptions extends ImageFolderOptions {
  /** The number of the class of each image. */
  labels?: readonly number[] | undefined;
}

/** A sample is [image, label], or the image alone if there are no labels. */
export type ImageSample = [image: Tensor, label: bigint] | Tensor;

/**
 * Images in files: a batch is `[images, labels]`, uint8 [B, channels, height, width] and int64 [B], or the images alone if
 * there are no labels. The images of a batch are decoded at the same time; if the size of all is fixed (`crop`, or `resize`
 * with two numbers), into one memory. Random places and flips depend on the loader's seed, the epoch and the index.
 */
export class ImageDataset extends Dataset<ImageSample> {
  static module = __filename;
  readonly files: readonly string[];
  readonly labels: readonly number[] | null;
  /** @internal */
  readonly _plan: Plan;
  /** @internal */
  readonly _concurrency: number;

  constructor(files: readonly FilePath[], options?: ImageDatasetOptions);
  constructor(...passed: [files: readonly FilePath[], options?: ImageDatasetOptions]) {
    super();
    const [files, options = {}] = upTo('utils.data.ImageDataset', 2, passed);
    const fn = 'utils.data.ImageDataset';
    if (!Array.isArray(files)) throw argumentError(fn, 'files', 'a list of files', files);
    const {
      labels,
      concurrency = defaultConcurrency(),
      ...how
    } = ownOptions(fn, options, [...known, 'labels', 'concurrency']);
    if (concurrency !== Infinity && !(Number.isSafeInteger(concurrency) && concurrency > 0)) {
      throw argumentError(fn, 'concurrency', 'an integer above 0, or Infinity', concurrency);
    }
    this.files = files.map((file) => pathOf(fn, 'files', file));
    this._plan = planOf(fn, how);
    this._concurrency = concurrency;
    this.labels = labels ?? null;
    if (labels !== undefined && !(Array.isArray(labels) && labels.every(Number.isSafeInteger))) {
      throw argumentError(fn, 'labels', 'a list of integers', labels);
    }
    if (labels !== undefined && labels.length !== files.length) {
      throw argumentError(fn, 'labels', `${files.length} labels, one for each file`, labels);
    }
  }

  get length(): number {
    return this.files.length;
  }

  async getItem(index: number, context?: SampleContext): Promise<ImageSample> {
    const at = placeOf(FN, this.length, index);
    const image = imageIn(await imageOf(this, at, context));
    return this.labels === null ? image : [image, BigInt(this.labels[at]!)];
  }

  override async getItems(indices: number[], contexts?: SampleContext[]): Promise<unknown> {
    demandIndices(FN, indices);
    const { crop, resize, channels } = this._plan;
    const size = crop ?? (typeof resize === 'object' ? resize : null);
    const each = <T>(make: (place: number) => Promise<T>) => settle(indices.length, this._concurrency, make);
    if (size === null) return each((i) => this.getItem(indices[i]!, contexts?.[i]));
    const [height, width] = size;
    const slab = slabOf(indices.length, { height, width, channels });
    try {
      await each(async (i) => {
        const { data } = await imageOf(this, placeOf(FN, this.length, indices[i]!), contexts?.[i]);
        put(slab, i, data);
      });
      const images = imagesOf(slab);
      const { labels } = this;
      if (labels === null) return images;
      const numbers = Array.from(indices, (index) => BigInt(labels[placeOf(FN, this.length, index)]!));
      return asBatch([images, tensor(numbers)]);
    } finally {
      slab.dispose(); // the view keeps the memory
    }
  }
}

/**
 * What `make` gives for each place, at most `limit` at the same time. After an error nothing else begins; it is thrown once
 * all have ended, so that nothing is read for a batch that has failed, and its images are released.
 */
async function settle<T>(count: number, limit: number, make: (place: number) => Promise<T>): Promise<T[]> {
  const made = new Array<T>(count);
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < count && !failed) {
      const place = next++;
      try {
        made[place] = await make(place);
      } catch (error) {
        noteFailedPlace(error, place);
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(limit, count) }, lane));
  const rejected = lanes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (rejected === undefined) return made;
  disposeAll(made.filter((one) => one !== undefined));
  throw rejected.reason;
}

const imageOf = (dataset: ImageDataset, at: number, context: SampleContext | undefined) =>
  decoded(FN, dataset.files[at]!, dataset._plan, context);

/**
 * Images in folders, one for each class, as in torchvision's ImageFolder: `classes` are the names of the folders in order,
 * the label of an image is the number of its folder.
 */
export class ImageFolder extends ImageDataset {
  static override module = __filename;
  readonly classes: readonly string[];

  constructor(root: FilePath, options?: ImageFolderOptions);
  constructor(...passed: [root: FilePath, options?: ImageFolderOptions]) {
    const fn = 'utils.data.ImageFolder';
    const [root, options = {}] = upTo(fn, 2, passed);
    const folder = pathOf(fn, 'root', root);
    const classes = foldersIn(folder);
    const files: string[] = [];
    const labels: number[] = [];
    classes.forEach((name, label) => {
      const found = imagesIn(join(folder, name));
      if (found.length === 0) throw argumentError(fn, 'root', `images in the folder '${name}'`, folder);
      for (const file of found) {
        files.push(join(folder, name, file));
        labels.push(label);
      }
    });
    if (classes.length === 0) throw argumentError(fn, 'root', 'a folder with a folder for each class', folder);
    super(files, { ...options, labels });
    this.classes = classes;
  }
}
