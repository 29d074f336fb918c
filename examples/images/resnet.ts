/** A small ResNet: three stages of two convolutions with a shortcut. */
import torch, { type Tensor } from 'libtorch-node';

const { BatchNorm2d, Conv2d, Linear, Module, Sequential } = torch.nn;

const conv = (channels: number, out: number, stride: number, size: 1 | 3 = 3) =>
  new Conv2d(channels, out, size, { stride, padding: size === 3 ? 1 : 0, bias: false }) as torch.nn.Conv2d;

/** Two convolutions, whose result is added to the input. Where sizes change, the shortcut is a convolution too. */
class Block extends Module {
  conv1: torch.nn.Conv2d;
  bn1: torch.nn.BatchNorm2d;
  conv2: torch.nn.Conv2d;
  bn2: torch.nn.BatchNorm2d;
  downsample: torch.nn.Sequential | null;
  constructor(channels: number, out: number, stride: number) {
    super();
    this.conv1 = conv(channels, out, stride);
    this.bn1 = new BatchNorm2d(out);
    this.conv2 = conv(out, out, 1);
    this.bn2 = new BatchNorm2d(out);
    const same = stride === 1 && channels === out;
    this.downsample = same ? null : (new Sequential(conv(channels, out, stride, 1), new BatchNorm2d(out)) as never);
  }
  override forward(x: Tensor): Tensor {
    const changed = this.bn2.forward(this.conv2.forward(this.bn1.forward(this.conv1.forward(x)).relu()));
    return changed.add(this.downsample === null ? x : (this.downsample.forward(x) as Tensor)).relu();
  }
}

export class ResNet extends Module {
  conv1: torch.nn.Conv2d;
  bn1: torch.nn.BatchNorm2d;
  layer1: Block;
  layer2: Block;
  layer3: Block;
  fc: torch.nn.Linear;
  constructor(classes: number, width = 8) {
    super();
    this.conv1 = conv(1, width, 1);
    this.bn1 = new BatchNorm2d(width);
    this.layer1 = new Block(width, width, 2);
    this.layer2 = new Block(width, 2 * width, 2);
    this.layer3 = new Block(2 * width, 4 * width, 2);
    this.fc = new Linear(4 * width, classes) as torch.nn.Linear;
  }
  /** Images [n, 1, height, width] to scores [n, classes]. */
  override forward(x: Tensor): Tensor {
    let y: Tensor = this.bn1.forward(this.conv1.forward(x)).relu();
    for (const layer of [this.layer1, this.layer2, this.layer3]) y = layer.forward(y);
    return this.fc.forward(y.mean([2, 3]));
  }
}
