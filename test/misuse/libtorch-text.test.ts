/** libtorch's messages in JavaScript terms: each entry of the table matches a message that this libtorch really gives. */
import * as path from 'node:path';
import { runInNewContext } from 'node:vm';
import { release } from '../support/release';
import { LIB, thrown, torch, untyped } from '../support/torch';

interface Translation {
  name: string;
  pattern: RegExp;
}
const { translations, translated, worded } = require(path.join(LIB, 'call/libtorch-text.js')) as {
  translations: readonly Translation[];
  translated(text: string): string;
  worded(message: string, code: string): string;
};

const F = untyped.nn.functional;
const x = () => untyped.ones([2, 3]);
const w = () => untyped.ones([2, 3], { requiresGrad: true });
const twice = () => {
  const loss = w().pow(2).sum();
  loss.backward();
  loss.backward();
};
const changed = () => {
  const y = w().exp();
  y.add_(1);
  y.sum().backward();
};

/** A call that gives the message, and its text in JavaScript. */
const provoked: Record<string, [call: () => unknown, told: string | RegExp]> = {
  apology: [() => untyped.bernoulli(x().mul(2)), /^aten::bernoulli: Expected [^(]*$/],
  allocator: [() => untyped.zeros([2 ** 50]), /^aten::zeros: cannot allocate \d+ bytes on cpu: [^[]*$/],
  backend: [
    () => x().toSparse().view(6),
    /^aten::view: Could not run 'aten::view' with arguments from the 'SparseCPU' backend; libtorch has it for CPU, [\w, ]+$/,
  ],
  indices: [
    () => x().gather(0, untyped.tensor([[0, 1]])),
    /Expected dtype .*int64 for index; number arrays make float32: pass \{ dtype: 'int64' \}$/,
  ],
  matmul: [
    () => x().matmul(untyped.ones([3, 2], { dtype: 'float64' })),
    /float32.*float64; t\.to\(dtype\) converts one$/,
  ],
  mean: [() => untyped.tensor([1n]).mean(), /Got: int64; t\.to\('float32'\) converts$/],
  condition: [() => x().where(x(), 0), /got a tensor with dtype float32; a\.gt\(b\) and similar ops make one$/],
  'nothing to differentiate': [() => x().sum().backward(), /^backward: tensor 0 does not require grad: no tensor that/],
  'not a scalar': [
    () => w().mul(2).backward(),
    /only for scalar outputs; call it on a sum or a mean, or pass \{ gradient \}$/,
  ],
  'in place': [
    () => w().add_(1),
    /^aten::add_\.Tensor: a leaf tensor that requires grad is changed in place: do it inside/,
  ],
  item: [
    () => x().item(),
    /a Tensor with 6 elements cannot be converted to Scalar; t\.toArray\(\) gives all elements$/,
  ],
  anomaly: [changed, /with torch\.autograd\.setDetectAnomaly\(true\)/],
  detach: [
    () => {
      w().mul(2).requiresGrad = false;
    },
    /^requiresGrad: you can only change requiresGrad flags of leaf tensors\. t\.detach\(\) returns one that does not require grad$/,
  ],
  option: [twice, /^backward: Trying to backward .* second time .*Specify \{ retainGraph: true \} if you need/],
  none: [() => x().clamp(), /must not be null/],
  'tensor type': [() => untyped.setRngState(x()), /RNG state must be a uint8 tensor/],
  dtype: [() => untyped.bincount(x()), /"bincount_cpu" not implemented for 'float32'/],
  'scalar type': [() => F.crossEntropy(x(), untyped.tensor([0, 1])), /expected dtype int64, got float32/],
  variable: [() => w().resize_([4]), /tensors that require grad/],
  'snake case': [() => x().split(-1), /expects? splitSize (to )?be non-negative, (but )?got splitSize=-1/],
};

/** Messages of only some releases, or of machines that these tests do not have: the text from libtorch's source. */
const quoted: Record<string, [text: string, told: string]> = {
  stack: ['no\nException raised from f at ../a.cpp:12 (most recent call first):\nframe #0: …', 'no'],
  assertion: [
    'isTuple() INTERNAL ASSERT FAILED at "../aten/src/ATen/core/ivalue_inl.h":1927, please report a bug to PyTorch. Expected Tuple',
    'a check inside libtorch failed (isTuple()): Expected Tuple',
  ],
  issue: ['not yet supported, please see https://github.com/pytorch/pytorch/issues/74540', 'not yet supported'],
  'C++ type': [
    'expected m1 and m2 to have the same dtype, but got: float != long int',
    'expected m1 and m2 to have the same dtype, but got: float32 and int64; t.to(dtype) converts one',
  ],
  noGrad: ['use with torch.no_grad(): instead', 'use torch.noGrad(() => …) instead'],
  numpy: ['Use tensor.numpy() instead', 'Use t.toTypedArray() instead'],
};

test('every entry is triggered, or quoted from the source', () => {
  expect([...Object.keys(provoked), ...Object.keys(quoted)].sort()).toEqual(
    translations.map(({ name }) => name).sort(),
  );
});

test.each(Object.entries(provoked))('%s', (name, [call, told]) => {
  torch.scope(() => {
    const error = thrown(call) as Error & { libtorchMessage?: string };
    const [first] = error.message.split('\n');
    expect(first).toMatch(told);
    expect(error.stack).toContain(error.message);
    if (release !== '1.13') return; // other releases word some differently
    expect(error.libtorchMessage).toMatch(translations.find((entry) => entry.name === name)!.pattern);
    expect(Object.keys(error)).not.toContain('libtorchMessage');
  });
});

test.each(Object.entries(quoted))('%s, quoted', (_, [text, told]) => {
  expect(translated(text)).toBe(told);
});

test('words of other releases', () => {
  const cases: [string, string][] = [
    [
      'One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.',
      'One of the differentiated Tensors appears to not have been used in the graph. Set { allowUnused: true } if this is the desired behavior.',
    ],
    [
      'tensors used as indices must be long, int, byte or bool tensors',
      "tensors used as indices must be long, int, byte or bool tensors; number arrays make float32: pass { dtype: 'int64' }",
    ],
    [
      'Hint: enable anomaly detection, with torch.autograd.set_detect_anomaly(True, check_nan=False).',
      'Hint: enable anomaly detection, with torch.autograd.setDetectAnomaly(true).',
    ],
    [
      'a leaf Variable that requires grad is being used in an in-place operation.',
      'a leaf tensor that requires grad is changed in place: do it inside torch.noGrad(() => …)',
    ],
    ['[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: no memory', 'no memory'],
  ];
  for (const [text, told] of cases) expect(translated(text)).toBe(told);
});

test('foreign names, quoted kernels and operators are not changed', () => {
  const text = '"add_stub" not implemented, see aten::index_select and prob_dist';
  expect(translated(text)).toBe(text);
});

test("the addon's own messages are not changed, except the name of the called op", () => {
  const text = "fromCopy: argument 'device': expected a device such as 'cpu' or 'cuda:0', got 'Long_name=True'";
  expect(worded(text, 'ERR_TORCH_ARGUMENT')).toBe(text.replace('fromCopy', 'tensor'));
});

test('a message as long as a text that a model was given does not take minutes', () => {
  for (const part of ['x', ' ', '\n', '\t', ' (at ', 'Float', '"', 'a_']) {
    const reword = () => worded(`call: ${part.repeat(200_000)}`, 'ERR_TORCH_RUNTIME').length;
    expect(runInNewContext('reword()', { reword }, { timeout: 20_000 })).toBeGreaterThan(0);
  }
}, 300_000);

test('the advice for parameters without a gradient names the option of DistributedDataParallel', () => {
  const advice = 'detection by passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel`';
  expect(worded(`nn.parallel.DistributedDataParallel: ${advice}`, 'ERR_TORCH_DISTRIBUTED')).toBe(
    'nn.parallel.DistributedDataParallel: detection by passing `{ findUnusedParameters: true }` to `torch.nn.parallel`',
  );
  // Of a warning.
  expect(translated('find_unused_parameters=True was specified in DDP constructor, but')).toBe(
    '{ findUnusedParameters: true } was specified in DDP constructor, but',
  );
});
