/**
 * Principal components by singular value decomposition: reduces handwritten digits of 784 pixels to points of a few
 * dimensions, and measures the variance that these keep. `node examples/pca.js`
 */
import torch from 'libtorch-node';
import { loadDigits, PIXELS } from './digits/data';

const DIGITS = 1000;

torch.scope(() => {
  const { pixels, labels } = loadDigits().heldOut;
  const images = torch.fromTypedArray(pixels, [labels.length, PIXELS]).narrow(0, 0, DIGITS);
  const mean = images.mean(0);
  const centred = images.sub(mean); // [1000, 784] minus [784]
  const { S, Vh } = torch.linalg.svd(centred, false);

  const variance = S.square();
  const share = variance.cumsum(0).div(variance.sum());
  for (const components of [1, 2, 10, 50, 200]) {
    console.log(`${components} components: ${(100 * share.at(components - 1).item()).toFixed(1)} % of the variance`);
  }

  // Reduces each image to 50 numbers, and reconstructs it.
  const axes = Vh.narrow(0, 0, 50); // [50, 784]
  const small = centred.matmul(axes.T); // [1000, 50]
  const back = small.matmul(axes).add(mean);
  const error = back.sub(images).square().sum().div(centred.square().sum()).item();
  console.log(`images of ${small.shape[1]} numbers miss ${(100 * error).toFixed(1)} % of it`);
  const orthonormal = torch.allclose(axes.matmul(axes.T), torch.eye(50), { atol: 1e-4 });
  console.log(`the axes are orthonormal: ${orthonormal}`);
});
