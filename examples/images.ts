/**
 * Converts images to tensors and back: sharp decodes, a tensor shares the pixels' memory, a convolution finds the edges,
 * sharp encodes.
 * `node examples/images.js [image] [edges.png]`
 */
import { readFile, writeFile } from 'node:fs/promises';
import torch from 'libtorch-node';
import sharp from 'sharp';

/** A built-in image, so that the example runs without a file. */
const drawing = `<svg width="96" height="64"><rect width="96" height="64" fill="#203040"/>
  <circle cx="30" cy="32" r="18" fill="#f0c020"/><rect x="58" y="16" width="24" height="32" fill="#d03030"/></svg>`;

interface Pixels {
  data: Uint8Array;
  info: { width: number; height: number; channels: number };
}

/** The change of grey at each pixel, 0 to 255, and a summary. */
function edges({ data, info }: Pixels): { strength: Uint8Array; text: string } {
  return torch.scope(() => {
    // Not a copy: writing to the tensor would change the pixels.
    const pixels = torch.fromTypedArray(data, [info.height, info.width, info.channels]).to('float32');
    const colour = pixels.div(255).mean([0, 1]).tolist() as number[];
    const grey = pixels.mean([2]).view([1, 1, info.height, info.width]);
    const sobel = torch.tensor([
      [-1, -2, -1],
      [0, 0, 0],
      [1, 2, 1],
    ]);
    const slopes = torch.nn.functional.conv2d(grey, torch.stack([sobel, sobel.t()]).unsqueeze(1), { padding: 1 });
    const strength = slopes.square().sum([1]).sqrt().clamp(0, 255).to('uint8');
    const marked = Number(strength.gt(128).sum().item());
    const shown = colour.map((part) => part.toFixed(2)).join(', ');
    const text = `${info.width} × ${info.height}, mean colour ${shown}, ${marked} pixels of edges`;
    return { strength: strength.toTypedArray() as Uint8Array, text };
  });
}

async function main([from, to]: string[]): Promise<void> {
  const image = from === undefined ? await sharp(Buffer.from(drawing)).png().toBuffer() : await readFile(from);
  const pixels = await sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const { strength, text } = edges(pixels);
  console.log(text);
  const raw = { width: pixels.info.width, height: pixels.info.height, channels: 1 as const };
  const png = await sharp(strength, { raw }).png().toBuffer();
  if (to !== undefined) await writeFile(to, png);
  const { width, height, format } = await sharp(png).metadata();
  console.log(`${format} of ${width} × ${height}, tensors left: ${torch.memory().tensors}`);
}

void main(process.argv.slice(2));
