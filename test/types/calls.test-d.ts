/** Checked by `npm run typecheck`, never run: which calls of ops compile, and which do not. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Generator } from '../../types/generated/classes';
import type { Functions, LinalgFunctions, NnFunctionalFunctions } from '../../types/generated/functions';

declare const torch: Functions;
declare const linalg: LinalgFunctions;
declare const functional: NnFunctionalFunctions;
declare const a: Tensor;
declare const b: Tensor;
declare const generator: Generator;

// By position, by name, and mixed.
torch.add(a, b);
torch.add(a, b, { alpha: 2 });
torch.add(a, { other: b, alpha: 2n });
torch.add({ self: a, other: b, alpha: true });
torch.gather(a, 1, { index: b });
torch.scatter(a, 0, { index: b, src: a });
torch.scatter(a, 0, b, { value: 1 });
torch.narrow(a, 0, 1, { length: 1 });
torch.normal(0, 1, { size: [2] });
torch.movedim(a, 0, { destination: 1 });
torch.maskedFill(a, b, { value: 0 });
a.gather(0, { index: b });
a.unfold(0, 2, { step: 1 });
a.narrow(0, 1, { length: 1 });
a.scatter(0, b, { src: a, reduce: 'add' });
torch.addmm(a, a, { mat2: b, beta: 2 });
torch.add(a, { re: 1, im: -1 });
torch.add(a, b, { alpha: 2, out: a });
a.add(b, { alpha: 2 });
a.add({ other: b });
a.add(1);
a.add_(b).mul_(2);

// @ts-expect-error: an unknown option
torch.add(a, b, { alhpa: 2 });
// @ts-expect-error: an unknown option, all by name
torch.add({ self: a, other: b, beta: 2 });
// @ts-expect-error: an option of another type
torch.add(a, b, { alpha: 'two' });
// @ts-expect-error: keyword-only, not by position
torch.add(a, b, 2);
// @ts-expect-error: other is missing
torch.add(a);
// @ts-expect-error: other is missing, by name
torch.add({ self: a });
// @ts-expect-error: given twice
torch.add(a, b, { other: b });
// @ts-expect-error: no tensor
torch.add('a', b);
// @ts-expect-error: methods leave self out
a.add({ self: a, other: b });
// @ts-expect-error: in-place ops do not have out
a.add_(b, { out: a });
// @ts-expect-error: no such op
torch.addd(a, b);

// Optional parameters.
torch.sum(a);
torch.sum(a, 1);
torch.sum(a, -1n, true);
torch.sum(a, [0, 1], true, { dtype: 'float64' });
torch.sum(a, 1, { keepdim: true });
torch.sum(a, { dim: [1], keepdim: true, dtype: null });
torch.sum({ self: a, dim: null, out: b });
// undefined is an argument that is not given.
a.argmax(undefined, { keepdim: true });
torch.conv2d(a, b, undefined, { padding: 1 });
functional.linear(a, b, undefined);
a.sum([1], true);
a.sum({ dim: [1], keepdim: true });
a.sum({ dtype: 'int64' });
// PyTorch's other names of dtypes.
a.sum({ dtype: 'float' });
// @ts-expect-error: an unknown dtype
a.sum({ dtype: 'flaot' });
// @ts-expect-error: keepdim is not a number
a.sum(1, 1);
// @ts-expect-error: keepdim alone does not fit any overload
a.sum({ keepdim: true });
// @ts-expect-error: a tensor is not an options object, although it has a dtype
torch.sum(a, b);
// @ts-expect-error: a tensor is not an options object
torch.zeros([2], a);

// Sizes: a list, or numbers where the list is the only positional parameter.
torch.zeros([2, 3]);
torch.zeros(2, 3);
torch.zeros(2, 3, { dtype: 'int64' });
torch.zeros([2, 3], { dtype: 'int64', device: 'cuda:0', layout: 'strided', pinMemory: false, requiresGrad: true });
torch.zeros([2], { device: 'xpu:0' });
torch.zeros({ size: [2, 3], dtype: 'bool' });
torch.zeros([2], { out: a });
torch.rand([2, 3], { generator });
torch.rand(2, 3, { generator });
torch.full([2], 7, { dtype: 'float32' });
a.view(2, -1);
a.view([2, 3]);
a.view('int32');
a.permute(1, 0);
a.newZeros([2], { requiresGrad: true });
// @ts-expect-error: a size is needed
torch.zeros();
a.view(...a.shape.slice(0, 1), -1);
torch.sparseCooTensor(...a.shape);
// @ts-expect-error: a size is needed
a.view();
// @ts-expect-error: a size is needed
a._unsafeView();
// @ts-expect-error: sizes are integers
a.view(...['2']);
// @ts-expect-error: self is positional too, so no rest numbers
torch.permute(a, 1, 0);
// @ts-expect-error: only ops that make tensors take requiresGrad
torch.add(a, b, { requiresGrad: true });
// @ts-expect-error: sizes are integers
torch.zeros(['2']);
// @ts-expect-error: dtypes are strings of a fixed set
torch.zeros([2], { dtype: 'flaot' });
// @ts-expect-error: a layout is not a memory format
torch.emptyLike(a, { memoryFormat: 'strided' });

// Lists of tensors, and lists for which a single value is accepted.
torch.cat([a, b], 1);
torch.cat(new Set([a, b]), { dim: 1 });
torch.cat([a, b], { out: a });
torch.conv2d(a, b);
torch.conv2d(a, b, null, 2, [1, 1]);
torch.conv2d(a, b, null, { stride: 2, padding: 'same' });
torch.conv2d(a, b, { stride: [2, 2], padding: 1, groups: 2 });
torch.conv2d(a, { weight: b, padding: 1 });
torch.indexPut(a, [null, b], a, true);
torch._foreachAdd_([a, b], 1);
// @ts-expect-error: a number is not a list of tensors
torch.cat(1);
// @ts-expect-error: null is not a tensor here
torch.cat([a, null]);
// @ts-expect-error: stride is misspelt
torch.conv2d(a, b, { strides: 2 });

// Required options, several outs, other namespaces, names that JavaScript forbids.
torch.div(a, b, { roundingMode: 'floor' });
a.div(2, { roundingMode: null });
torch.max(a, 1, false, { out: [a, b] });
a.where(b, 0);
torch.where(b, a, 0);
linalg.norm(a, 2, { dim: [0], keepdim: true });
functional.gelu(a, { approximate: 'tanh' });
torch.var(a, [0], true);
a.random_(0, 10, { generator: null });
// @ts-expect-error: two outs
torch.max(a, 1, false, { out: [a] });
// @ts-expect-error: no such rounding mode option
torch.div(a, b, { rounding: 'floor' });
// @ts-expect-error: a generator is an object of its own
a.random_(0, 10, { generator: a });

// The forms of slice; the forms of an array's slice are in errors.test.ts.
a.slice();
a.slice({ start: 2, end: 5 });
a.slice(0, { start: 2, end: 5, step: 1 });
a.slice(0, 2, 5);
a.slice(0, undefined, 5);
a.slice(0, null, null, 2);
a.slice(0n, 2n, 5n);
a.slice(0, 2, { end: 5 });
a.slice(0, 2, 5, { step: 1 });
// @ts-expect-error: a start and nothing else
a.slice(0, 2, undefined);
// @ts-expect-error: a fifth argument
a.slice(0, 2, 5, 1, 1);
