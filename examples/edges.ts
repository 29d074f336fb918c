/**
 * Edges of an image by convolution, on a program's own bytes: a Uint8Array in, without a copy, and a Uint8Array out.
 * `node examples/edges.js`
 */
import torch from 'libtorch-node';

const HEIGHT = 16;
const WIDTH = 32;

/** A bright disc on a dark background, as a decoder might return it. */
const bytes = new Uint8Array(HEIGHT * WIDTH);
for (let row = 0; row < HEIGHT; row++) {
  for (let column = 0; column < WIDTH; column++) {
    const distance = Math.hypot(row - 7.5, (column - 15.5) / 2);
    bytes[row * WIDTH + column] = distance < 6 ? 220 : 20;
  }
}

/** The two Sobel filters: horizontal and vertical changes of brightness. */
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
