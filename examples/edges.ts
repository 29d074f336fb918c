/**
 * Edges of an image, by convolution, on bytes as a program has them: a Uint8Array in, a Uint8Array out, nothing copied
 * on the way in. `node examples/edges.js`
 */
import torch from 'libtorch-node';

const HEIGHT = 16;
const WIDTH = 32;

/** A bright disc on a dark ground, as a decoder might give it. */
const bytes = new Uint8Array(HEIGHT * WIDTH);
for (let row = 0; row < HEIGHT; row++) {
  for (let column = 0; column < WIDTH; column++) {
    const distance = Math.hypot(row - 7.5, (column - 15.5) / 2);
    bytes[row * WIDTH + column] = distance < 6 ? 220 : 20;
  }
}

/** Sobel's two filters: brightness that changes from left to right, and from top to bottom. */
const sobel = torch.tensor([
  [
    [-1, 0, 1],
    [-2, 0, 2],
    [-1, 0, 1],
  ],
  [
    [-1, -2, -1],
    [0, 0, 0],
    [1, 2, 1],
  ],
]);

const edges = torch.scope(() => {
  const image = torch.fromTypedArray(bytes, [1, 1, HEIGHT, WIDTH]); // shares the array's memory
  const scaled = image.float().div(255);
  const padded = torch.nn.functional.pad(scaled, [1, 1, 1, 1], 'replicate');
  const slopes = torch.conv2d(padded, sobel.unsqueeze(1)).squeeze(0);
  const strength = slopes.square().sum(0).sqrt();
  return strength.div(strength.max()).mul(255).to('uint8');
});

const result: Uint8Array = edges.toTypedArray();
for (let row = 0; row < HEIGHT; row++) {
  const line = result.subarray(row * WIDTH, (row + 1) * WIDTH);
  console.log(Array.from(line, (value) => (value > 96 ? '#' : '.')).join(''));
}
console.log(
  `${result.filter((value) => value > 96).length} of ${result.length} pixels are edges, dtype ${edges.dtype}`,
);
