/** Prints an image in the form that the service reads, float32 from 0 to 1: `node pixels.js IMAGE | curl …`. */
import torch from 'libtorch-node';
import { readImage } from './dataset';

async function main([file]: string[]): Promise<void> {
  if (file === undefined) throw new Error('usage: node pixels.js IMAGE');
  const pixels = await torch.scope(async () => (await readImage(file)).toTypedArray() as Float32Array);
  process.stdout.write(new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength));
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
