/** The sizes that ImageDataset reads from headers are those that sharp reports. */
import path from 'node:path';
import sharp from 'sharp';
import type * as Header from '../../lib/data/adapters/image-header';
import { LIB } from '../support/torch';

const { sizeInHeader } = require(path.join(LIB, 'data', 'adapters', 'image-header.js')) as typeof Header;

/** An image of 37 × 23 in a format. */
const picture = () => sharp({ create: { width: 37, height: 23, channels: 3, background: '#468' } });

const files: [string, () => Promise<Buffer>][] = [
  ['JPEG', () => picture().jpeg().toBuffer()],
  ['progressive JPEG', () => picture().jpeg({ progressive: true, mozjpeg: true }).toBuffer()],
  [
    'JPEG that is turned, with a profile and EXIF data',
    () => picture().withMetadata({ orientation: 6, icc: 'p3' }).jpeg().toBuffer(),
  ],
  ['grey JPEG', () => picture().greyscale().jpeg().toBuffer()],
  ['PNG', () => picture().png().toBuffer()],
  ['interlaced PNG with a palette', () => picture().png({ progressive: true, palette: true }).toBuffer()],
];

test.each(files)('%s', async (_name, make) => {
  const file = await make();
  const { width, height } = await sharp(file).metadata();
  expect(sizeInHeader(file)).toEqual({ width, height });
  expect([width, height]).toEqual([37, 23]);
});

test.each<[string, () => Promise<Buffer>]>([
  ['WebP', () => picture().webp().toBuffer()],
  ['GIF', () => picture().gif().toBuffer()],
  ['nothing', async () => Buffer.alloc(0)],
  ['text', async () => Buffer.from('not a picture, but long enough for a header')],
])('a file of another format is left to sharp: %s', async (_name, make) => {
  expect(sizeInHeader(await make())).toBeUndefined();
});

test.each(files)('%s that is cut off or damaged gives its size or nothing', async (_name, make) => {
  const file = await make();
  const size = sizeInHeader(file);
  for (let length = 0; length < file.length; length++) {
    expect([undefined, size]).toContainEqual(sizeInHeader(file.subarray(0, length)));
  }
  for (let at = 0; at < file.length; at++) {
    const damaged = Buffer.from(file);
    damaged[at] = damaged[at]! ^ 0xff;
    const found = sizeInHeader(damaged);
    if (found !== undefined) expect(found.width * found.height).toBeGreaterThan(0);
  }
});
