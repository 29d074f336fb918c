/** Programs that the compiler refuses, and its errors, which name the conflicting sizes. */
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT } from '../support/torch';

/** Each program, and a text in its error. `a` is [2, 3], `b` is [4, 5]. */
const refused: [program: string, text: string][] = [
  ['a + 1', "Operator '+' cannot be applied"],
  ['a * 2', 'must be of type'],
  ['a > 0', "Operator '>' cannot be applied"],
  ['a == 0', 'have no overlap'],
  ['a[0]', 'implicitly has an'],
  ['a.log_softmax(0)', "Property 'log_softmax' does not exist"],
  ['torch.log_softmax(a, 0)', "Property 'log_softmax' does not exist"],
  ['torch.mm(a, b)', 'shapes [2,3] and [4,5] do not multiply: 3 is not 4'],
  ['a.matmul(b)', 'shapes [2,3] and [4,5] do not multiply: 3 is not 4'],
  ['torch.bmm(torch.zeros([2, 3, 4]), torch.zeros([3, 4, 5]))', '2 batches are not 3'],
  ['new torch.nn.Linear(5, 2).forward(a)', 'Linear(5, 2): shapes [2,3] and [2,5] do not multiply: 3 is not 5'],
  [
    'new torch.nn.Conv2d(3, 8, 5).forward(torch.zeros([1, 4, 8, 8]))',
    'Conv2d(3, 8, 5): input [1,4,8,8] and weight [8,3,5,5] do not fit: 4 channels are not 3',
  ],
  [
    'new torch.nn.Conv1d(3, 8, 5).forward(torch.zeros([1, 3, 4]))',
    'Conv1d(3, 8, 5): a window of 5 does not fit into 4',
  ],
  ['new torch.nn.ConvTranspose2d(3, 8, 5).forward(torch.zeros([1, 4, 8, 8]))', 'ConvTranspose2d(3, 8, 5): input'],
  ['new torch.nn.Conv2d(3, 8, 5, { pading: 1 })', "'pading' does not exist"],
  ['new torch.nn.Conv2d(3, 8, 5, 1, { pading: 1 })', "'pading' does not exist"],
  ['new torch.nn.Conv2d(3, 8, 5).stride = [2, 2]', 'read-only'],
  ['new torch.nn.MaxPool2d(3).forward(torch.zeros([1, 2, 2]))', 'MaxPool2d(3): a window of 3 does not fit into 2'],
  ['new torch.nn.AdaptiveAvgPool2d(3).forward(a.at(0))', 'AdaptiveAvgPool2d(3): input [3] does not fit'],
  ['new torch.nn.Flatten(3).forward(a)', 'Flatten: dimension 3 is out of range for shape [2,3]'],
  ['new torch.nn.BatchNorm1d(5).forward(a)', 'BatchNorm1d(5): input [2,3] does not fit: 3 channels are not 5'],
  ['new torch.nn.BatchNorm2d(3).forward(a)', 'BatchNorm2d(3): input [2,3] does not fit: 2 dimensions, expected 4'],
  ['new torch.nn.LayerNorm([2, 4]).forward(a)', 'LayerNorm: input [2,3] does not fit: 3 is not 4'],
  ['new torch.nn.GroupNorm(1, 5).forward(a)', 'GroupNorm(1, 5): input [2,3] does not fit: 3 channels are not 5'],
  ['new torch.nn.Embedding(5, 2).forward(a)', 'Embedding(5, 2): expected indices of int64 or int32, got float32'],
  ['new torch.nn.GRU(5, 2).forward(a)', 'GRU(5, 2): input [2,3] does not fit: 3 is not 5'],
  ['new torch.nn.LSTM(3, 2).forward(a.at(0))', 'LSTM(3, 2): input [3] does not fit: 1 dimensions, expected 2 or 3'],
  ['new torch.nn.GRU(3, 2, { numLayer: 2 })', "'numLayer' does not exist"],
  [
    'new torch.nn.MultiheadAttention(3, 1).forward(a, b, a)',
    'MultiheadAttention(3, 1), key: input [4,5] does not fit: 5 is not 3',
  ],
  [
    'new torch.nn.TransformerEncoderLayer(5, 1).forward(a)',
    'TransformerEncoderLayer(5): input [2,3] does not fit: 3 is not 5',
  ],
  [
    'new torch.nn.Sequential(new torch.nn.Embedding(9, 4), new torch.nn.TransformerEncoderLayer(6, 2))',
    '(1) TransformerEncoderLayer(6): expected 6 features, got 4',
  ],
  ['new torch.nn.GLU().forward(a)', 'GLU: dimension -1 of [2,3] is odd'],
  ['new torch.nn.ZeroPad2d(1).forward(a)', 'ZeroPad2d: input [2,3] does not fit: 2 dimensions, expected'],
  ['new torch.nn.Upsample([2, 2]).forward(torch.zeros([1, 2, 3]))', 'Upsample: input [1,2,3] does not fit'],
  [
    'new torch.nn.InstanceNorm1d(5, { affine: true }).forward(a)',
    'InstanceNorm1d(5): input [2,3] does not fit: 2 channels are not 5',
  ],
  [
    'new torch.nn.Sequential(new torch.nn.Linear(3, 4), new torch.nn.ReLU(), new torch.nn.Linear(5, 2))',
    '(2) Linear(5, 2): expected 5 features, got 4',
  ],
  [
    'new torch.nn.Sequential(new torch.nn.Conv2d(3, 4, 3), new torch.nn.MaxPool2d(2), new torch.nn.BatchNorm2d(8))',
    '(2) BatchNorm2d(8): expected 8 channels, got 4',
  ],
  [
    'new torch.nn.Sequential(new torch.nn.ReLU(), new torch.nn.Linear(5, 2)).forward(a)',
    'Sequential: (1) Linear(5, 2): shapes [2,3] and [2,5] do not multiply: 3 is not 5',
  ],
  [
    'new torch.nn.Sequential(new torch.nn.ReLU()).append(new torch.nn.ReLU())',
    'the type of this Sequential names its layers: declare it as nn.Sequential to change them',
  ],
  ['torch.nn.functional.linear(a, b)', 'shapes [2,3] and [4,5] do not multiply: 3 is not 5'],
  ['a.mm(torch.zeros([3, 4], { dtype: "float64" }))', 'expected float32 on both sides, got float64'],
  ['a.add(b)', 'shapes [2,3] and [4,5] do not broadcast: 3 is not 5'],
  ['torch.mul(a, torch.zeros([3, 3]))', 'shapes [2,3] and [3,3] do not broadcast: 2 is not 3'],
  ['a.add_(b)', 'shapes [2,3] and [4,5] do not broadcast: 3 is not 5'],
  ['a.lt(b)', 'do not broadcast: 3 is not 5'],
  ['a.view([4, 2])', 'shape [2,3] has 6 elements, which [4,2] cannot have'],
  ['a.reshape(4, -1)', 'shape [2,3] has 6 elements, which [4,-1] cannot have'],
  ['a.permute(0, 0)', 'dimension 0 is there twice'],
  ['a.permute([0])', 'shape [2,3] has 2 dimensions, 1 are given'],
  ['a.transpose(0, 5)', 'dimension 5 is out of range for shape [2,3]'],
  ['torch.zeros([2, 3, 4]).t()', 'shape [2,3,4] has more than 2 dimensions'],
  ['a.expand([4, 3])', 'shape [2,3] does not expand to [4,3]: 2 is not 4'],
  ['a.squeeze(4)', 'dimension 4 is out of range for shape [2,3]'],
  ['a.flatten(0, 7)', 'dimension 7 is out of range for shape [2,3]'],
  ['a.sum(2)', 'dimension 2 is out of range for shape [2,3]'],
  ['a.mean([0, -2])', 'is there twice'],
  ['a.softmax(3)', 'dimension 3 is out of range for shape [2,3]'],
  ['torch.cat([a, b])', 'shapes [2,3] and [4,5] do not join along dimension 0: 3 is not 5'],
  ['torch.stack([a, b])', 'shapes [2,3] and [4,5] do not stack: 2 is not 4'],
  ['a.split([1, 2], 0)', 'the sizes add up to 3, the dimension has 2'],
  ['torch.split(a, [1, 2])', 'the sizes add up to 3, the dimension has 2'],
  ['torch.async.matmul(a, torch.async.relu(a))', 'shapes [2,3] and [2,3] do not multiply: 3 is not 2'],
  ['a.norm(2, 5)', 'dimension 5 is out of range for shape [2,3]'],
  ['torch.norm(a, 2, [2])', 'dimension 2 is out of range for shape [2,3]'],
  ['torch.linalg.norm(a, 2, 4)', 'dimension 4 is out of range for shape [2,3]'],
  ['a.quantile(0.5, 2)', 'dimension 2 is out of range for shape [2,3]'],
  ['torch.nn.functional.normalize(a, 2, 2)', 'dimension 2 is out of range for shape [2,3]'],
  ['a.reshape([-1, -1])', '-1 is there twice in [-1,-1]'],
  ['a.add_(torch.zeros([4, 2, 3]))', 'shape [4,2,3] does not expand to [2,3]: it has more dimensions'],
  ['torch.zeros([1, 3]).mul_(a)', 'shape [2,3] does not expand to [1,3]: 2 is not 1'],
  ['torch.conv2d(a, a)', 'weight [2,3] has 2 dimensions: expected 4'],
  [
    'torch.nn.functional.convTranspose1d(torch.zeros([1, 2, 8, 8]), torch.zeros([2, 3, 3, 3]))',
    'weight [2,3,3,3] has 4 dimensions: expected 3',
  ],
  ['a.at(0, 0, 0)', 'more indices than the dimensions of [2,3]'],
  ['a.at(0, 3)', 'index 3 is out of range for a dimension of 3'],
  ['torch.conv2d(torch.zeros([1, 3, 8, 8]), torch.zeros([4, 2, 3, 3]))', '3 channels are not 2'],
  ['torch.conv2d(torch.zeros([1, 3, 2, 2]), torch.zeros([4, 3, 3, 3]))', 'a window of 3 does not fit into 2'],
  ['torch.maxPool2d(torch.zeros([3, 3]), 2)', 'input [3,3] does not fit a window [2,2]'],
  [
    'torch.nn.functional.adaptiveMaxPool2d(torch.zeros([3]), 2)',
    'does not fit: it needs 2 dimensions and 1 or 2 before',
  ],
  ['torch.nn.functional.lpPool1d(torch.zeros([1, 3, 4]), 2, 5)', 'a window of 5 does not fit into 4'],
  ['torch.conv1d(torch.zeros([1, 3, 8]), torch.zeros([4, 2, 3]))', '3 channels are not 2'],
  ['torch.heaviside(a, b)', 'do not broadcast: 3 is not 5'],
  ['torch.where(a.gt(0), a, b)', 'do not broadcast: 3 is not 5'],
  ['a.chunk(2, 5)', 'dimension 5 is out of range for shape [2,3]'],
  ['a.unbind(4)', 'dimension 4 is out of range for shape [2,3]'],
  ['a.indexSelect(3, torch.zeros([2], { dtype: "int64" }))', 'dimension 3 is out of range for shape [2,3]'],
  ['a.argmax(2)', 'dimension 2 is out of range for shape [2,3]'],
  ['a.unsqueeze(4)', 'dimension 4 is out of range for shape [2,3]'],
  ['a.mv(torch.zeros([4]))', 'shapes [2,3] and [4] do not multiply: 3 is not 4'],
  ['torch.addmm(torch.zeros([4]), a, torch.zeros([3, 5]))', 'shape [4] does not expand to [2,5]: 4 is not 5'],
  ['((x: torch.Tensor<"float32", [2, 784]>) => x)(torch.zeros([2, 783]))', 'is not assignable to parameter of type'],
  ['torch.sum(a, 1, { keepDim: true })', 'keepDim'],
  ['torch.tensor([[1, 2], [3]])', 'rows of 1 and 2 elements'],
  ['torch.add(a, a, { alhpa: 1 })', "'alhpa' does not exist in type"],
  ["torch.zeros([2], { dtype: 'flaot' })", 'is not assignable to type'],
  // A method is truthy in every condition; Python's attributes are properties, which cannot be called.
  ['a.isContiguous ? 1 : 2', 'this function is always defined. Did you mean to call it'],
  ['a.isFloatingPoint ? 1 : 2', 'this function is always defined. Did you mean to call it'],
  ['a.isComplex && a', 'this function is always defined. Did you mean to call it'],
  ['a.isSigned ? 1 : 2', 'this function is always defined. Did you mean to call it'],
  ['a.isPinned ? 1 : 2', 'this function is always defined. Did you mean to call it'],
  ['a.isNonzero ? 1 : 2', 'this function is always defined. Did you mean to call it'],
  ['torch.run((t) => (t.relu(a).isComplex ? 1 : 2))', 'this function is always defined. Did you mean to call it'],
  ['torch.run((t) => (t.relu(a).isLeaf ? 1 : 2))', "'isLeaf' does not exist"],
  ['a.isLeaf()', 'This expression is not callable'],
  ['a.retainsGrad()', 'This expression is not callable'],
  ['a.outputNr()', 'This expression is not callable'],
  ['a.isCuda()', 'This expression is not callable'],
  ['a.isLeaf = true', 'read-only'],
  // The arguments of an array's slice.
  ['a.slice(0, 2)', 'slice(0, 2) of an array is x.at(torch.slice(0, 2)) here'],
  ['a.slice(1)', 'slice(1) of an array is x.at(torch.slice(1)) here'],
  ['a.slice(-2)', 'slice(-2) of an array is x.at(torch.slice(-2)) here'],
  ['a.slice(a.shape.length, 2)', 'of an array is x.at(torch.slice('],
  ['a.slice({ axis: 1 })', "'axis' does not exist"],
  ['a.slice(0, { begin: 1 })', "'begin' does not exist"],
  ['a.slice(0, 1, { stop: 1 })', "'stop' does not exist"],
  // The error names an unknown option.
  ['torch.sum(a, { axis: 1 })', "'axis' does not exist"],
  ['a.sum(1, { keepDim: true })', "'keepDim' does not exist"],
  ['a.mean({ axis: 1 })', "'axis' does not exist"],
  ['a.max(1, { keepDim: true })', "'keepDim' does not exist"],
  ['a.argmax({ axis: 1 })', "'axis' does not exist"],
  ['a.argmax({ dim: 7 })', 'dimension 7 is out of range for shape [2,3]'],
  ['a.softmax({ axis: 1 })', "'axis' does not exist"],
  ["a.softmax(1, { dtyp: 'float32' })", "'dtyp' does not exist"],
  ['a.std({ axis: 1 })', "'axis' does not exist"],
  ['a.topk(2, { axis: 1 })', "'axis' does not exist"],
  ['a.sort({ axis: 1 })', "'axis' does not exist"],
  ['a.unsqueeze({ axis: 0 })', "'axis' does not exist"],
  ['torch.cat([a, a], { axis: 1 })', "'axis' does not exist"],
  ["torch.zeros([2], { dtyp: 'int64' })", "'dtyp' does not exist"],
  ["torch.ones(2, 3, { dtyp: 'int64' })", "'dtyp' does not exist"],
  ["torch.arange(5, { dtyp: 'int64' })", "'dtyp' does not exist"],
  ["a.to({ dtyp: 'int64' })", "'dtyp' does not exist"],
  ['torch.conv2d(torch.zeros([1, 3, 8, 8]), torch.zeros([4, 3, 3, 3]), { pad: 1 })', "'pad' does not exist"],
  ["F.crossEntropy(a, i, { reduktion: 'sum' })", "'reduktion' does not exist"],
  // Calls that libtorch would refuse.
  ['torch.zeros([-1, 2])', 'size -1 is negative'],
  ['torch.full([3, -2], 0)', 'size -2 is negative'],
  ['torch.rand(2, -3)', 'No overload matches'],
  ['F.crossEntropy(a, torch.zeros([4], { dtype: "int64" }))', 'shapes [2,3] and [4] do not fit: 2 is not 4'],
  ['F.crossEntropy(a, torch.zeros([2]))', 'expected classes of int64, got float32'],
  ['F.crossEntropy(a, torch.zeros([2], { dtype: "int32" }))', 'expected classes of int64, got int32'],
  ['F.binaryCrossEntropyWithLogits(a, i.unsqueeze(1).expand(2, 3))', 'expected a floating-point dtype, got int64'],
  ['F.binaryCrossEntropy(a, a.bool())', 'expected float32 on both sides, got bool'],
  ['new torch.nn.Linear(3, 4).forward(a.long())', 'Linear(3, 4): expected a floating-point dtype, got int64'],
  [
    'new torch.nn.Sequential(new torch.nn.ReLU(), new torch.nn.LayerNorm(3)).forward(a.long())',
    'Sequential: (1) LayerNorm(3): expected a floating-point dtype, got int64',
  ],
  ['a.long().mean()', 'expected a floating-point dtype, got int64'],
  ['a.long().mean(1)', 'expected a floating-point dtype, got int64'],
  ['a.bool().softmax(1)', 'expected a floating-point dtype, got bool'],
  ['a.long().std()', 'expected a floating-point dtype, got int64'],
  ['a.long().sqrt_()', 'expected a floating-point dtype, got int64'],
  ['a.long().add_(1.5)', 'expected a floating-point dtype, got int64'],
  ['a.long().mul_(a)', 'expected a floating-point dtype, got int64'],
  ['a.long().div_(2)', 'expected a floating-point dtype, got int64'],
  ['a.gather(1, a)', 'expected indices of int64 or int32, got float32'],
  ['a.scatterAdd(1, a, a)', 'expected indices of int64 or int32, got float32'],
  ['a.maskedFill(a, 0)', 'expected a mask of bool, got float32'],
  ['a.maskedSelect(a.long())', 'expected a mask of bool, got int64'],
  ['torch.where(a, a, a)', 'expected a mask of bool, got float32'],
  ['a.view(5)', 'shape [2,3] has 6 elements, which [5] cannot have'],
  ['a.permute(0)', 'shape [2,3] has 2 dimensions, 1 are given'],
  ['a.repeat(2)', 'fewer repeats than dimensions'],
  ['a.view()', 'expected at least one number, got none'],
  ['torch.sub(1, 2)', 'is not assignable to parameter of type'],
  ['F.nllLoss(a, torch.zeros([3], { dtype: "int64" }))', 'shapes [2,3] and [3] do not fit: 2 is not 3'],
  ['F.embedding(torch.zeros([2]), a)', 'expected indices of int64 or int32, got float32'],
  ['torch.embedding(a, torch.zeros([2]))', 'expected indices of int64 or int32, got float32'],
  ['a.indexSelect(0, torch.zeros([2]))', 'expected indices of int64 or int32, got float32'],
  ["torch.zeros([2], { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["torch.tensor([2], { device: 'cuda0' })", `Type '"cuda0"' is not assignable to type 'Device`],
  ["torch.rand(2, 3, { device: 'gpu' })", 'is not assignable to parameter of type'],
  ["torch.zerosLike(a, { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["a.to({ device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["a.to('gpu', 'float64')", `'"gpu"' is not assignable to`],
  ["torch.load('x', { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["torch.safetensors.load('x', { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["torch.npy.load('x', { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["torch.jit.load('x', { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ["torch.cuda.memory('gpu')", `'"gpu"' is not assignable to parameter of type`],
  ["torch.async.zeros([2], { device: 'gpu' })", `Type '"gpu"' is not assignable to type 'Device`],
  ['torch.zeros([2], { device: 5 })', "'number' is not assignable to type 'string'"],
  ['a.chunk(0)', 'chunks 0 is not positive'],
  ['a.split(0)', 'split size 0 is not positive'],
  ['a.topk(7)', '7 elements of a dimension of 3'],
  // Words that an argument does not know.
  ["new torch.nn.CrossEntropyLoss({ reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["new torch.nn.MSELoss({ reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["new torch.nn.MSELoss({ reduction: 'batchmean' })", `Type '"batchmean"' is not assignable to type`],
  ["F.mseLoss(a, a, { reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["F.crossEntropy(a, i, { reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["F.klDiv(a, a, { reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["F.tripletMarginLoss(a, a, a, { reduction: 'avg' })", `Type '"avg"' is not assignable to type`],
  ["F.interpolate(torch.zeros([1, 1, 4]), { scaleFactor: 2, mode: 'lnear' })", `'"lnear"' is not assignable to type`],
  ["F.pad(a, [1, 1], { mode: 'reflct' })", `'"reflct"' is not assignable to type`],
  ["F.pad(a, [1, 1], 'reflct')", `'"reflct"' is not assignable to`],
  ["a.div(2, { roundingMode: 'foo' })", `'"foo"' is not assignable to type`],
  ["a.div_(a, { roundingMode: 'foo' })", `'"foo"' is not assignable to type`],
  ["torch.divide(a, a, { roundingMode: 'foo' })", `'"foo"' is not assignable to type`],
  ["torch.meshgrid([i], { indexing: 'ix' })", `'"ix"' is not assignable to type`],
  ["torch.fft.fft(a, { norm: 'foo' })", `'"foo"' is not assignable to type`],
  ["torch.fft.irfft2(a, { norm: 'foo' })", `'"foo"' is not assignable to type`],
  ["a.quantile(0.5, { interpolation: 'foo' })", `'"foo"' is not assignable to type`],
  ["F.gelu(a, { approximate: 'foo' })", `'"foo"' is not assignable to type`],
  ["torch.linalg.qr(a, 'foo')", `'"foo"' is not assignable to`],
  ["a.scatterReduce(0, i, a, 'foo')", `'"foo"' is not assignable to`],
  ["torch.async.fft.fft(a, { norm: 'foo' })", `'"foo"' is not assignable to type`],
  // A variable keeps the type of its first value; without one it has that of the last.
  ['{ let h = a; h = h.t() }', `is not assignable to type 'Tensor<"float32", [2, 3]>'`],
  ['{ let h = a; h = h.long() }', `is not assignable to type 'Tensor<"float32", [2, 3]>'`],
  ['{ let h; h = a; h = h.t(); h.mm(a.t()) }', 'shapes [3,2] and [3,2] do not multiply: 2 is not 3'],
  ['{ let h; h = a; if (i.dim()) h = h.t(); h.add(b) }', 'shapes [3,2] and [4,5] do not broadcast: 2 is not 5'],
  ['{ let h; h = a; h = torch.cat([h, h]); h.view(5, 2) }', 'shape [4,3] has 12 elements, which [5,2] cannot have'],
  // A limit of the compiler, which docs/types.md explains.
  [
    '{ const g = new torch.nn.GRU(3, 4); let h: torch.Tensor | null = null; for (;;) { const [, n] = g.forward(a, h); h = n } }',
    "'n' implicitly has type 'any'",
  ],
];

/** Programs whose error has the sentence once, without other overloads. */
const once = [
  'a.slice(0, 2)',
  'a.slice(1)',
  'a.matmul(b)',
  'torch.matmul(a, b)',
  'a.mm(b)',
  'torch.bmm(a, b)',
  'a.add(b)',
  'a.lt(b)',
  'torch.nn.functional.linear(a, b)',
];

/** The same for hand-written functions, whatever the mistake. */
const byHand = [
  'F.crossEntropy(a, torch.zeros([4], { dtype: "int64" }))',
  'F.crossEntropy(a, torch.zeros([2]))',
  'F.nllLoss(a, torch.zeros([3], { dtype: "int64" }))',
  'F.mseLoss(a, b)',
  'F.embedding(torch.zeros([2]), a)',
  'F.embedding(i, 5)',
  'F.embedding(i, a, { padding: 1 })',
  "F.nllLoss(a, i, { reduktion: 'sum' })",
  'F.dropout(a, { prob: 1 })',
  'F.interpolate(a, { scale: 1 })',
];

/** The line of the first program. */
const FIRST = 5;

const file = path.join(ROOT, 'test', 'types', 'refused.ts');
const lines = [
  "import * as torch from 'libtorch-node';",
  'const a = torch.zeros([2, 3]);',
  'const b = torch.zeros([4, 5]);',
  "const i = torch.zeros([2], { dtype: 'int64' });",
  'const F = torch.nn.functional;',
  ...refused.map(([program]) => `${program};`),
  ...[...once, ...byHand].map((program) => `${program} as unknown;`),
];

/** All errors of the compiler, by line. */
function diagnose(): Map<number, string> {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost({ ...options, skipLibCheck: true });
  const { getSourceFile, fileExists } = host;
  const text = lines.join('\n');
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, text, {
          languageVersion: ts.ScriptTarget.ES2022,
          impliedNodeFormat: ts.ModuleKind.CommonJS,
        })
      : getSourceFile.call(host, name, ...rest);
  const program = ts.createProgram([file], { ...options, skipLibCheck: true }, host);
  const said = new Map<number, string>();
  for (const found of ts.getPreEmitDiagnostics(program, program.getSourceFile(file))) {
    const { line } = ts.getLineAndCharacterOfPosition(found.file!, found.start!);
    said.set(line, `${said.get(line) ?? ''}${ts.flattenDiagnosticMessageText(found.messageText, '\n')}\n`);
  }
  return said;
}

const said = diagnose();

test('each error names the conflict, at the place of the call', () => {
  expect([...said.keys()].filter((line) => line < FIRST)).toEqual([]);
  const unexplained = refused.filter(([, text], i) => !said.get(i + FIRST)?.includes(text));
  expect(unexplained.map(([program]) => `${program}: ${said.get(lines.indexOf(`${program};`)) ?? 'accepted'}`)).toEqual(
    [],
  );
}, 600_000);

test.each(once)('%s: one sentence', (program) => {
  const text = said.get(lines.indexOf(`${program} as unknown;`)) ?? 'accepted';
  expect(text.match(/do(es)? not (multiply|broadcast)|of an array is/g)).toHaveLength(1);
  expect(text).not.toMatch(/Overload \d of/);
});

test.each(byHand)('%s: one sentence', (program) => {
  const text = said.get(lines.indexOf(`${program} as unknown;`)) ?? 'accepted';
  expect(text.match(/Argument of type|Object literal/g)).toHaveLength(1);
  expect(text).not.toMatch(/Overload \d of/);
});

test('an editor completes options and dtypes', () => {
  const text = [
    "import * as torch from 'libtorch-node';",
    'torch.zeros([2], { /*options*/ });',
    "torch.zeros([2], { dtype: '/*dtype*/' });",
    'torch.zeros([2, 3]).sum({ /*sum*/ });',
  ].join('\n');
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const source = name === file ? text : ts.sys.readFile(name);
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
    },
    getCurrentDirectory: () => ROOT,
    getCompilationSettings: () => ({ ...options, skipLibCheck: true }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
  const names = (mark: string) =>
    service.getCompletionsAtPosition(file, text.indexOf(mark), {})?.entries.map((entry) => entry.name) ?? [];
  expect(names('/*options*/')).toEqual(
    expect.arrayContaining(['device', 'dtype', 'layout', 'pinMemory', 'requiresGrad']),
  );
  expect(names('/*dtype*/')).toEqual(expect.arrayContaining(['float32', 'int64', 'bool']));
  expect(names('/*sum*/')).toEqual(expect.arrayContaining(['dim', 'keepdim', 'dtype']));
}, 600_000);
