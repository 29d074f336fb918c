/**
 * Programs whose results test/types/programs.test.ts compares with their types: each exported tensor has the dtype and the
 * shape of its type, as literals. A name that ends in `Dynamic` may have sizes that the compiler does not know.
 */
import * as torch from 'libtorch-node';

const a = torch.zeros([2, 3]);
const b = torch.ones([4, 1, 3]);
const i = torch.tensor([[0, 1, 2]], { dtype: 'int64' });

// Factories.
export const zeros = torch.zeros([2, 3]);
export const zerosSpread = torch.zeros(2, 3);
export const zerosSpreadOptions = torch.zeros(2, 3, { dtype: 'int64' });
export const zerosNamed = torch.zeros({ size: [4], dtype: 'float64' });
export const empty = torch.empty([5, 1]);
export const rand = torch.rand([7]);
const dim: number = 0;
const two = (a.length === 2 ? 2 : 3) as 2 | 3;
export const sumOfListDynamic = a.sum([dim, 1]);
export const sumKeptDynamic = a.sum([dim, 1], true);
export const flipped = a.flip([dim, 1]);
export const catFromNothing = torch.cat([torch.zeros([0]), a, torch.zeros([0]), a]);
export const catOfNothing = torch.cat([torch.zeros([0]), torch.zeros([0])]);
export const unboundSomeDynamic = torch.zeros([two, 3]).unbind()[1]!;
export const unboundNone: [] = torch.zeros([0, 3]).unbind();
export const resizedAs = torch.zeros([2, 3]).resizeAs_(torch.zeros([4]));
export const setToOtherDynamic = torch.zeros([2, 3]).set_(torch.zeros([4]));
export const randn = torch.randn([2, 2], { dtype: 'float64' });
export const full = torch.full([2, 2], 1);
export const fullInt = torch.full([2, 2], 1n);
export const fullBool = torch.full([2], true);
export const randint = torch.randint(10, [3, 4]);
export const randintLow = torch.randint(5, 10, [3]);
export const randperm = torch.randperm(6);
export const eye = torch.eye(3);
export const eyeWide = torch.eye(3, 4);
export const linspace = torch.linspace(0, 1, 11);
export const arange = torch.arange(10);
export const arangeFrom = torch.arange(2, 10);
export const arangeStep = torch.arange(0, 10, 3);
export const arangeFloatDynamic = torch.arange(0, 1.5, 0.5);
export const arangeDtype = torch.arange(5, { dtype: 'float32' });
export const zerosLike = torch.zerosLike(a);
export const onesLikeInt = torch.onesLike(a, { dtype: 'int32' });
export const newZeros = i.newZeros([2, 5]);
export const scalar = torch.tensor(1);
export const vector = torch.tensor([1, 2, 3]);
export const matrix = torch.tensor([
  [1, 2, 3],
  [4, 5, 6],
]);
export const booleans = torch.tensor([true, false]);
export const bigints = torch.tensor([[1n], [2n]]);
export const converted = torch.tensor([1, 2], { dtype: 'int16' });
export const typedDynamic = torch.tensor(new Float64Array(4));
export const borrowed = torch.fromTypedArray(new Int32Array(6), [2, 3]);

// Elementwise.
export const addBroadcast = a.add(b);
export const addOnes = torch.zeros([2, 1]).add(torch.zeros([1, 3]));
export const addScalarless = a.add(torch.tensor(1));
export const addNumber = a.add(1);
export const mulOption = torch.add(a, b, { alpha: 2 });
export const mulNamed = torch.mul({ self: a, other: b });
export const powNumber = a.pow(2);
export const powTensor = a.pow(b);
export const maximum = torch.maximum(a, b);
export const sin = a.sin();
export const relu = torch.relu(a);
export const gelu = torch.nn.functional.gelu(a);
export const clamped = a.clamp(0, 1);
export const lerp = a.lerp(b, 0.5);
export const whereTensor = torch.where(a.gt(0), a, b);
export const whereNumber = torch.where(b.gt(0), a, 0);
export const addcmul = a.addcmul(a, b);
export const maskedFill = a.maskedFill(a.gt(0), 1);
export const inPlace = torch.zeros([2, 3]).add_(a).relu_();
export const outGiven = torch.add(a, a, { out: torch.zeros([2, 3], { dtype: 'float64' }) });

// Products.
export const mm = torch.mm(a, torch.zeros([3, 5]));
export const matmulBatch = torch.matmul(torch.zeros([7, 1, 2, 3]), torch.zeros([4, 3, 5]));
export const matmulVector = a.matmul(torch.zeros([3]));
export const matmulVectorLeft = torch.zeros([2]).matmul(a);
export const matmulDot = torch.zeros([3]).matmul(torch.zeros([3]));
export const bmm = torch.bmm(torch.zeros([4, 2, 3]), torch.zeros([4, 3, 5]));
export const mv = a.mv(torch.zeros([3]));
export const dot = torch.zeros([3]).dot(torch.zeros([3]));
export const outer = torch.outer(torch.zeros([3]), torch.zeros([4]));
export const addmm = torch.addmm(torch.zeros([5]), a, torch.zeros([3, 5]));
export const baddbmm = torch.baddbmm(torch.zeros([4, 1, 5]), torch.zeros([4, 2, 3]), torch.zeros([4, 3, 5]));
export const linear = torch.nn.functional.linear(torch.zeros([8, 2, 3]), torch.zeros([10, 3]), torch.zeros([10]));
export const timesTransposed = a.matmul(a.T);
export const embedding = torch.embedding(torch.zeros([100, 16]), i);

// Windows.
const image = torch.zeros([2, 3, 32, 28]);
export const conv1d = torch.conv1d(torch.zeros([2, 3, 20]), torch.zeros([6, 3, 5]), null, 2, 1);
export const conv2d = torch.conv2d(image, torch.zeros([8, 3, 3, 3]));
export const conv2dStride = torch.conv2d(image, torch.zeros([8, 3, 3, 5]), null, [2, 1], [1, 2], 1, 1);
export const conv2dOptions = torch.conv2d(image, torch.zeros([8, 3, 3, 3]), {
  padding: 1,
  stride: 2,
  dilation: [1, 2],
});
export const conv2dSame = torch.conv2d(image, torch.zeros([8, 3, 3, 3]), { padding: 'same' });
export const conv2dValid = torch.conv2d(image, torch.zeros([8, 3, 3, 3]), { padding: 'valid' });
export const conv2dGroups = torch.conv2d(image, torch.zeros([6, 1, 3, 3]), { groups: 3 });
export const conv2dOne = torch.conv2d(torch.zeros([3, 32, 28]), torch.zeros([8, 3, 3, 3]));
export const conv3d = torch.conv3d(torch.zeros([1, 2, 5, 6, 7]), torch.zeros([3, 2, 2, 2, 2]), { stride: [1, 2, 3] });
export const convTranspose1d = torch.convTranspose1d(torch.zeros([1, 4, 10]), torch.zeros([4, 2, 3]), null, 2, 1, 1);
export const convTranspose2d = torch.convTranspose2d(torch.zeros([2, 8, 16, 14]), torch.zeros([8, 3, 4, 4]), {
  stride: 2,
  padding: 1,
});
export const maxPool1d = torch.maxPool1d(torch.zeros([2, 3, 20]), 3);
export const maxPool2d = torch.maxPool2d(image, 2);
export const maxPool2dOptions = torch.maxPool2d(image, [3, 2], { stride: 2, padding: [1, 0] });
export const maxPool2dCeilDynamic = torch.maxPool2d(image, 3, { ceilMode: true });
export const avgPool2d = torch.nn.functional.avgPool2d(image, 4, 4);
export const avgPool1d = torch.avgPool1d(torch.zeros([3, 20]), 4);
export const adaptive = torch.nn.functional.adaptiveAvgPool2d(image, 1);
export const adaptiveTwo = torch.nn.functional.adaptiveAvgPool2d(image, [4, 2]);

// Views.
const cube = torch.zeros([2, 3, 4]);
export const view = cube.view([6, 4]);
export const viewInferred = cube.view(2, -1);
export const viewSpread = cube.view(-1);
export const reshape = cube.reshape([3, 8]);
export const reshapeFunction = torch.reshape(cube, [-1, 2]);
export const flatten = cube.flatten();
export const flattenSome = cube.flatten(1);
export const flattenNamed = torch.flatten(cube, { startDim: 0, endDim: 1 });
export const flattenScalar = torch.tensor(1).flatten();
export const unsqueeze = cube.unsqueeze(0);
export const unsqueezeLast = cube.unsqueeze(-1);
export const squeeze = torch.zeros([1, 2, 1, 3]).squeeze();
export const squeezeDim = torch.zeros([1, 2, 1, 3]).squeeze(2);
export const squeezeNot = torch.zeros([1, 2, 1, 3]).squeeze(1);
export const permute = cube.permute([2, 0, 1]);
export const permuteSpread = cube.permute(2, 0, 1);
export const transpose = cube.transpose(0, -1);
export const transposed = a.t();
export const property = a.T;
export const swapaxes = torch.swapaxes(cube, 1, 2);
export const expand = torch.zeros([2, 1]).expand([2, 5]);
export const expandKept = torch.zeros([2, 1]).expand(3, -1, 5);
export const expandAs = torch.zeros([3]).expandAs(cube.transpose(1, 2));
export const repeat = a.repeat([2, 1]);
export const repeatMore = a.repeat([2, 1, 2]);
export const unflatten = cube.unflatten(2, [2, -1]);
export const select = cube.select(1, 0);
export const narrow = cube.narrow(2, 1, 2);
export const indexSelect = cube.indexSelect(1, torch.tensor([0, 2], { dtype: 'int64' }));
export const gather = a.gather(0, torch.zeros([2, 3], { dtype: 'int64' }));
export const oneHot = torch.nn.functional.oneHot(i, 5);
export const detached = cube.detach().clone().contiguous();

// In place, with another shape.
export const unsqueezeInPlace = torch.zeros([2, 3]).unsqueeze_(-1);
export const squeezeInPlace = torch.zeros([1, 2, 1]).squeeze_();
export const squeezeDimInPlace = torch.zeros([1, 2, 1]).squeeze_(0);
export const turnedInPlace = torch.zeros([2, 3]).t_();
export const transposeInPlace = torch.zeros([2, 3, 4]).transpose_(0, 2);
export const swapdimsInPlace = torch.zeros([2, 3, 4]).swapdims_(1, 2);
export const swapaxesInPlace = torch.zeros([2, 3, 4]).swapaxes_(0, 1);
export const asStrided = torch.zeros([6]).asStrided([2, 2], [3, 1]);
export const asStridedInPlace = torch.zeros([6]).asStrided_([2, 2], [3, 1]);
export const resizedInPlace = torch.zeros([6]).resize_([3, 5]);
export const resizedSpread = torch.zeros([6]).resize_(4, 2);

// Reductions.
export const sum = cube.sum();
export const sumDim = cube.sum(1);
export const sumDims = cube.sum([0, -1]);
export const sumKeep = cube.sum([0, 2], true);
export const sumOptions = cube.sum({ dim: -1, keepdim: true });
export const sumNull = torch.sum(cube, null);
export const sumInt = i.sum();
export const sumDtype = i.sum({ dtype: 'float64' });
export const mean = cube.mean(2);
export const prod = cube.prod(0);
export const amax = torch.amax(cube, [1, 2]);
export const amaxAll = cube.amax();
export const std = cube.std([0]);
export const variance = cube.var(1, { keepdim: true });
export const argmax = cube.argmax(1);
export const argmaxAll = cube.argmax();
export const argmaxKeep = cube.argmax({ dim: 2, keepdim: true });
export const any = cube.gt(0).any(1);
export const all = cube.gt(0).all();
export const logsumexp = cube.logsumexp(2);
export const countNonzero = cube.countNonzero();
export const norm = cube.norm();
export const maxAll = cube.max();
export const { values: maxValues, indices: maxIndices } = cube.max(1);
export const [minValues, minIndices] = cube.min({ dim: 2, keepdim: true });
export const { values: medianValues, indices: medianIndices } = cube.median(0);

// Along a dimension.
export const softmax = cube.softmax(-1);
export const softmaxDtype = torch.softmax(cube, 1, 'float64');
export const logSoftmax = torch.logSoftmax(cube, 0);
export const cumsum = cube.cumsum(1);
export const cumsumInt = torch.tensor([true, false]).cumsum(0);
export const flip = cube.flip([0, 2]);
export const { values: sorted, indices: order } = cube.sort();
export const argsort = cube.argsort(1);
export const { values: top, indices: topIndices } = cube.topk(2);
export const { values: topDim, indices: topDimIndices } = torch.topk(cube, 1, 1);

// Joining and taking apart.
export const cat = torch.cat([a, torch.zeros([4, 3])]);
export const catDim = torch.cat([a, torch.zeros([2, 5]), torch.zeros([2, 1])], 1);
export const catNegative = torch.cat([a, a], { dim: -1 });
export const catDtypes = torch.cat([a, i]);
export const stack = torch.stack([a, a, a]);
export const stackDim = torch.stack([a, a], 2);
export const [split0, split1, split2] = torch.zeros([10, 3]).split(4);
export const [sizes0, sizes1] = torch.zeros([10, 3]).split([7, 3]);
export const [half0, half1] = torch.zeros([3, 9]).chunk(2, 1);
export const [row0, row1] = a.unbind();
export const [column0, column1, column2] = a.unbind(1);

// Indexing.
export const atRow = cube.at(0);
export const atElement = cube.at(0, 1, 2);
export const atSlice = cube.at(torch.slice(0, 1));
export const atSlices = cube.at(torch.slice(), torch.slice(1), torch.slice(null, null, 2));
export const atNegative = cube.at(-1, torch.slice(-2));
export const atNew = cube.at(null, 0);
export const atEllipsis = cube.at('...', 0);
export const atEllipsisMiddle = cube.at(0, '...', null, torch.slice(0, 2));
export const atIndices = cube.at(torch.slice(), torch.tensor([[0, 1, 2, 1]], { dtype: 'int64' }));
export const atList = cube.at([0, 1, 0]);
export const atMaskDynamic = cube.at(cube.gt(0));

// Losses.
export const mse = torch.nn.functional.mseLoss(a, a);
export const mseNone = torch.nn.functional.mseLoss(a, torch.zeros([3]), { reduction: 'none' });
