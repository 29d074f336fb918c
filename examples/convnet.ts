/**
 * A convolutional network on handwritten digits. The compiler checks every shape from the image to the scores: if one size
 * is changed, the line that does not fit is an error. `node examples/convnet.js [--steps N]`
 */
import { parseArgs } from 'node:util';
import torch, { type Tensor } from 'libtorch-node';
import { type Digits, loadDigits } from './digits/data';

const F = torch.nn.functional;
const BATCH = 64;

/** He initialisation: `inputs` is the number of terms in each output. */
const weights = <S extends number[]>(values: Tensor<'float32', S>, inputs: number): Tensor<'float32', S> => {
  const scaled = values.mul_(Math.sqrt(2 / inputs));
  scaled.requiresGrad = true;
  return scaled;
};

class Convnet {
  readonly first = weights(torch.randn([8, 1, 5, 5]), 25);
  readonly second = weights(torch.randn([16, 8, 5, 5]), 200);
  readonly last = weights(torch.randn([10, 256]), 256);

  get parameters(): Tensor[] {
    return [this.first, this.second, this.last];
  }

  /** Takes any number of images, which is `B` in the types. */
  forward<B extends number>(images: Tensor<'float32', [B, 1, 28, 28]>): Tensor<'float32', [B, 10]> {
    const wide = F.maxPool2d(torch.conv2d(images, this.first).relu(), 2); // [B, 8, 12, 12]
    const deep = F.maxPool2d(torch.conv2d(wide, this.second).relu(), 2); // [B, 16, 4, 4]
    return F.linear(deep.flatten(1), this.last); // 16 · 4 · 4 is 256
  }
}

const imagesOf = ({ pixels, labels }: Digits) => torch.fromTypedArray(pixels, [labels.length, 1, 28, 28]);
const labelsOf = ({ labels }: Digits) => torch.tensor(labels, { dtype: 'int64' });

function main(steps: number): void {
  torch.manualSeed(1);
  const { training, heldOut } = loadDigits();
  const [images, labels] = [imagesOf(training), labelsOf(training)];
  const model = new Convnet();
  const adam = new torch.optim.Adam(model.parameters, { lr: 0.002 });
  for (let step = 1; step <= steps; step++) {
    const loss = torch.scope(() => {
      const batch = torch.randint(labels.numel, [BATCH]);
      const scores = model.forward(images.indexSelect(0, batch));
      const cost = F.crossEntropy(scores, labels.indexSelect(0, batch));
      adam.zeroGrad();
      cost.backward();
      adam.step();
      return Number(cost.item());
    });
    if (step % 20 === 0) console.log(`step ${step}: loss ${loss.toFixed(3)}`);
  }
  const right = torch.scope(() =>
    torch.noGrad(() => {
      const answers = model.forward(imagesOf(heldOut)).argmax(1);
      return answers.eq(labelsOf(heldOut)).float().mean().item();
    }),
  );
  console.log(`of ${heldOut.labels.length} digits that it has not seen it reads ${(100 * right).toFixed(1)} %`);
}

const { values } = parseArgs({ options: { steps: { type: 'string', default: '100' } } });
main(Number(values.steps));
