/**
 * Kinds of numbers: how dtypes promote, which dtypes the compiler infers, and complex numbers, which draw the Mandelbrot set.
 * `node examples/numbers.js`
 */
import torch, { type Tensor } from 'libtorch-node';

// Categories take precedence over sizes, and a number only has a category: an int16 tensor plus 1 stays int16.
const counts = torch.tensor([1, 2, 3], { dtype: 'int16' });
const more: Tensor<'int16', [3]> = counts.add(1);
const halves: Tensor<'float32', [3]> = counts.div(2);
const large: Tensor<'int64', []> = counts.sum(); // sums of integers are int64, so they do not overflow
const total: number | bigint = large.item();
const positive: Tensor<'bool', [3]> = counts.gt(1);
console.log(`${more.dtype}, ${halves.dtype}, ${large.dtype} (${total}), ${positive.dtype}`);

// 64-bit integers are exact: bigints go in, and come out if a number cannot represent the value.
const exact = torch.tensor([2n ** 62n, -1n]).add(1n);
console.log(exact.toTypedArray()); // a BigInt64Array

// Bytes wrap around, as in libtorch; floats do not.
console.log(
  torch
    .tensor(new Uint8Array([250]))
    .add(10)
    .toArray(),
  torch.tensor([250]).add(10).toArray(),
);

// z ← z² + c, for every c of a grid at once.
const WIDTH = 48;
const HEIGHT = 17;
const steps = torch.scope(() => {
  const re = torch.linspace(-2.1, 0.6, WIDTH).unsqueeze(0); // [1, WIDTH]
  const im = torch.linspace(1.1, -1.1, HEIGHT).unsqueeze(1); // [HEIGHT, 1]
  const c: Tensor<'complex64', [17, 48]> = torch.complex(re.expand(HEIGHT, -1), im.expand(-1, WIDTH));
  let z = torch.zerosLike(c);
  let inside = torch.zeros([HEIGHT, WIDTH], { dtype: 'int64' });
  for (let i = 0; i < 40; i++) {
    z = z.mul(z).add(c);
    inside = inside.add(z.abs().lt(2).long()); // points that diverge end as NaN, for which lt() is false
  }
  return inside;
});
for (const row of steps.toArray()) {
  console.log(
    row
      .map((count) => (count === 40 ? '#' : Number(count) > 6 ? '+' : ' '))
      .join('')
      .trimEnd(),
  );
}
const point = torch.complex(torch.tensor(0.5), torch.tensor(-0.25));
console.log(point.item(), point.conj().mul({ re: 0, im: 1 }).item());
