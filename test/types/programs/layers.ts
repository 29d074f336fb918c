/** Layers whose results test/types/programs.test.ts compares with their types, as in shapes.ts. */
import * as torch from 'libtorch-node';

const { nn } = torch;
const image = torch.zeros([2, 3, 32, 28]);
const one = torch.zeros([3, 32, 28]);
const signal = torch.zeros([2, 4, 20]);
const volume = torch.zeros([2, 2, 8, 9, 10]);
const rows = torch.zeros([8, 12]);
const indices = torch.zeros([2, 5], { dtype: 'int64' });
const size = 3 as number;

export const linear = new nn.Linear(12, 7).forward(rows);
export const linearNamed = new nn.Linear({ inFeatures: 12, outFeatures: 7 }).forward(rows);
export const embeddingDynamic = new nn.Embedding(10, 4).forward(indices);
export const embeddingPaddingDynamic = new nn.Embedding(10, 4, 0, { maxNorm: 1 }).forward(indices);

// Convolutions.
export const conv1d = new nn.Conv1d(4, 6, 3).forward(signal);
export const conv2d = new nn.Conv2d(3, 8, 3).forward(image);
export const conv2dOne = new nn.Conv2d(3, 8, 3).forward(one);
export const conv2dList = new nn.Conv2d(3, 8, [3, 5], [2, 1], [1, 2], 1, 1, false).forward(image);
export const conv2dOptions = new nn.Conv2d(3, 6, 3, { stride: 2, padding: 1, dilation: 2, groups: 3 }).forward(image);
export const conv2dStride = new nn.Conv2d(3, 8, 3, 2, { padding: 1, bias: false }).forward(image);
export const conv2dPadding = new nn.Conv2d(3, 8, 3, 2, 1, { dilation: 2 }).forward(image);
export const conv2dSame = new nn.Conv2d(3, 8, 3, { padding: 'same' }).forward(image);
export const conv2dCircular = new nn.Conv2d(3, 8, 5, { padding: 2, paddingMode: 'circular' }).forward(image);
export const conv2dDynamic = new nn.Conv2d(3, 8, size).forward(image);
export const conv2dNamedDynamic = new nn.Conv2d({ inChannels: 3, outChannels: 8, kernelSize: 3 }).forward(image);
export const conv2dDepthwise = new nn.Conv2d(3, 3, 7, { padding: 'same', groups: 3 }).forward(image);
export const conv3d = new nn.Conv3d(2, 4, 3, { stride: [1, 2, 2] }).forward(volume);
export const transposed1d = new nn.ConvTranspose1d(4, 6, 3, 2).forward(signal);
export const transposed2d = new nn.ConvTranspose2d(3, 8, 3, { stride: 2, padding: 1, outputPadding: 1 }).forward(image);
export const transposed2dPositional = new nn.ConvTranspose2d(3, 6, 3, 2, 1, 1, 3, true, 2).forward(image);
export const transposed2dSizeDynamic = new nn.ConvTranspose2d(3, 8, 3, 2).forward(image, [66, 57]);
export const transposed3d = new nn.ConvTranspose3d(2, 4, 2).forward(volume);
class OwnConv extends nn.Conv2d {
  constructor() {
    super(3, 8, 3);
  }
  override forward(input: torch.Tensor): torch.Tensor {
    return super.forward(input).sum();
  }
}
export const ownConvDynamic = new OwnConv().forward(image);

// Pooling.
export const maxPool1d = new nn.MaxPool1d(2).forward(signal);
export const maxPool2d = new nn.MaxPool2d(3, 2, 1).forward(image);
export const maxPool2dOptions = new nn.MaxPool2d([2, 3], { stride: 1, dilation: 2 }).forward(image);
export const maxPool2dStride = new nn.MaxPool2d(3, 2, { padding: 1 }).forward(image);
export const maxPool2dCeilDynamic = new nn.MaxPool2d(3, { ceilMode: true }).forward(image);
export const maxPool3d = new nn.MaxPool3d(2).forward(volume);
export const avgPool1d = new nn.AvgPool1d(4, 2).forward(signal);
export const avgPool2d = new nn.AvgPool2d(2, { padding: 1, countIncludePad: false }).forward(image);
export const avgPool3d = new nn.AvgPool3d([2, 3, 2]).forward(volume);
export const lpPool2d = new nn.LPPool2d(2, 3, 2).forward(image);
export const adaptiveAvg2d = new nn.AdaptiveAvgPool2d(7).forward(image);
export const adaptiveAvg2dDynamic = new nn.AdaptiveAvgPool2d([5, null]).forward(image);
export const adaptiveAvg1d = new nn.AdaptiveAvgPool1d(5).forward(signal);
export const adaptiveMax3d = new nn.AdaptiveMaxPool3d([1, 2, 3]).forward(volume);
export const flatten = new nn.Flatten().forward(image);
export const flattenFrom = new nn.Flatten(0, 1).forward(image);
export const unflatten = new nn.Unflatten(1, [3, 4]).forward(rows);

// Normalization, activations, dropout.
export const batchNorm1d = new nn.BatchNorm1d(12).forward(rows);
export const batchNorm1dLong = new nn.BatchNorm1d(4, { momentum: null }).forward(signal);
export const batchNorm2d = new nn.BatchNorm2d(3, 1e-3).forward(image);
export const batchNorm2dNone = new nn.BatchNorm2d(5, { affine: false, trackRunningStats: false }).forward(image);
export const batchNorm3d = new nn.BatchNorm3d(2).forward(volume);
export const layerNorm = new nn.LayerNorm(28).forward(image);
export const layerNormList = new nn.LayerNorm([32, 28], { eps: 1e-6 }).forward(image);
export const rmsNorm = new nn.RMSNorm(12).forward(rows);
export const groupNorm = new nn.GroupNorm(2, 4).forward(signal);
export const groupNormPlain = new nn.GroupNorm(2, 2, { affine: false }).forward(signal);
export const relu = new nn.ReLU().forward(image);
export const gelu = new nn.GELU('tanh').forward(rows);
export const prelu = new nn.PReLU().forward(rows);
export const sigmoid = new nn.Sigmoid().forward(rows);
export const tanh = new nn.Tanh().forward(image);
export const silu = new nn.SiLU().forward(image);
export const elu = new nn.ELU(0.5).forward(rows);
export const leakyRelu = new nn.LeakyReLU(0.1).forward(rows.double());
export const hardtanh = new nn.Hardtanh({ minVal: 0 }).forward(rows);
export const softplus = new nn.Softplus().forward(rows);
export const dropout2d = new nn.Dropout2d().forward(image);
export const softmax = new nn.Softmax(1).forward(rows);
export const dropout = new nn.Dropout(0.1).forward(rows);
export const identity = new nn.Identity().forward(rows);

// Sequences.
const head = new nn.Sequential(new nn.Linear(12, 16), new nn.ReLU(), new nn.Dropout(0.1), new nn.Linear(16, 5));
const cnn = new nn.Sequential(
  new nn.Conv2d(3, 8, 3, { padding: 1 }),
  new nn.BatchNorm2d(8),
  new nn.GELU(),
  new nn.MaxPool2d(2),
  new nn.Flatten(),
  new nn.Linear(8 * 16 * 14, 6),
);
class Doubled extends nn.Module {
  override forward(input: torch.Tensor): torch.Tensor {
    return torch.cat([input, input], 1);
  }
}
class AnyLinear extends nn.Linear {
  override forward(input: any): any {
    return super.forward(input).sum();
  }
}
class Twice extends nn.ReLU {
  override forward(input: torch.Tensor): any {
    return torch.cat([super.forward(input), input], 1);
  }
}
class Focal extends nn.CrossEntropyLoss {
  override forward(input: torch.Tensor, target: torch.Tensor): torch.Tensor {
    return super.forward(input, target).exp();
  }
}
class Rows extends nn.AvgPool1d {
  override forward(input: torch.Tensor): torch.Tensor {
    return super.forward(input).flatten(1);
  }
}
export const focalDynamic = new Focal({ reduction: 'none' }).forward(
  rows,
  torch.zeros([rows.length], { dtype: 'int64' }),
);
export const ownPoolDynamic = new nn.Sequential(new Rows(2), new nn.Identity()).forward(signal);
export const sequentialTwiceDynamic: torch.Tensor = new nn.Sequential(new Twice(), new nn.Linear(24, 2)).forward(rows);
export const sequential = head.forward(rows);
export const sequentialImage = cnn.forward(image);
export const sequentialNested = new nn.Sequential(new nn.Sequential(new nn.ReLU(), head), new nn.Linear(5, 2)).forward(
  rows,
);
export const sequentialOwnDynamic = new nn.Sequential(new Doubled(), new nn.Linear(24, 2)).forward(rows);
export const sequentialAnyDynamic: torch.Tensor = new nn.Sequential(new AnyLinear(12, 2), new nn.ReLU()).forward(rows);
export const sequentialNamedDynamic = new nn.Sequential({ a: new nn.Linear(12, 2), b: new nn.ReLU() }).forward(rows);
const grown: torch.nn.Sequential = new nn.Sequential(new nn.Linear(12, 2));
export const sequentialGrownDynamic = grown.append(new nn.Linear(2, 3)).forward(rows);
function generic<N extends number>(input: torch.Tensor<'float32', [N, 3, 32, 28]>) {
  return cnn.forward(input);
}
export const sequentialGeneric = generic(image);
function bottleneck<C extends number>(size: C) {
  return new nn.Sequential(new nn.Linear(size, 8), new nn.Tanh(), new nn.Linear(8, size));
}
export const sequentialOfGeneric = bottleneck(12).forward(rows);
function block<C extends number>(channels: C) {
  return new nn.Sequential(new nn.Conv2d(channels, channels, 3), new nn.BatchNorm2d(channels), new nn.ReLU());
}
export const blockOfGeneric = block(3).forward(image);
function activated<S extends torch.Shape>(x: torch.Tensor<'float32', S>) {
  return new nn.Sequential(new nn.ReLU(), new nn.GELU()).forward(x);
}
export const anyShape = activated(rows);
