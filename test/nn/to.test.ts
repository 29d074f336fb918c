/** Module.to: the forms of its arguments, memory formats, and what it refuses. */
import { settled, thrown, torch, untyped } from '../support/torch';

const { nn } = torch;
type Tensor = import('../../types').Tensor;

test('to takes a memory format for parameters, gradients and buffers of 4 or 5 dimensions', () => {
  const before = settled();
  const net = new nn.Sequential(new nn.Conv2d(3, 4, 3), new nn.BatchNorm2d(4));
  const image = torch.randn([2, 3, 6, 6]);
  net.forward(image).sum().backward();
  const [weight] = net.parameters();
  const values = weight!.toArray();
  const grad = weight!.grad!;
  const bytes = torch.memory().bytes;
  expect(net.to({ memoryFormat: torch.channelsLast })).toBe(net);
  const isLast = (tensor: Tensor) => tensor.isContiguous({ memoryFormat: 'channels_last' });
  expect([weight!.strides, grad.strides]).toEqual([
    [27, 1, 9, 3],
    [27, 1, 9, 3],
  ]);
  expect([net.parameters()[0] === weight, weight!.isLeaf, weight!.toArray()]).toEqual([true, true, values]);
  expect(torch.memory().bytes).toBe(bytes);
  const result = net.forward(image.contiguous({ memoryFormat: 'channels_last' }));
  const copy = net.deepCopy();
  expect([isLast(result), isLast(copy.parameters()[0]!)]).toEqual([true, true]);
  net.to('float64', { memoryFormat: 'contiguous' });
  expect([weight!.isContiguous(), weight!.dtype]).toEqual([true, 'float64']);
  torch.disposeAll([net, copy, image, result, grad]);
  expect(settled()).toEqual(before);
});

test('to takes positions in the order of Python, and names', () => {
  const net = new nn.Linear(2, 2);
  const dtype = () => net.weight.dtype;
  expect([net.to('cpu', 'float64', true) && dtype(), net.to('float32', true) && dtype()]).toEqual([
    'float64',
    'float32',
  ]);
  expect([
    net.to('cpu', { dtype: 'float64', nonBlocking: true }) && dtype(),
    net.to(torch.ones([1]), true) && dtype(),
    net.to({ device: 'cpu', dtype: 'half', nonBlocking: false }) && dtype(),
  ]).toEqual(['float64', 'float32', 'float16']);
  const wrong: [unknown[], string][] = [
    [[{ memoryFormat: 'channelsLast' }], "to: argument 'memoryFormat': expected one of contiguous, "],
    [[{ format: 'channels_last' }], 'expected one of the options device, dtype, nonBlocking, memoryFormat'],
    [['cpu', 'int64'], "to: argument 'dtype': expected a floating-point or complex dtype, got 'int64'"],
    [['float64', 'float32'], "to: argument 'nonBlocking': expected a boolean, got 'float32'"],
    [
      [torch.ones([1], { dtype: 'int64' })],
      "to: argument 'tensor': expected a Tensor of a floating-point or complex dtype, got a Tensor ",
    ],
    [
      ['cpu', 'float64', false, 'channels_last'],
      "argument 'memoryFormat': expected a value by name, got 'channels_last'",
    ],
    [[3], "to: argument 'target': expected a device, a dtype, a Tensor or options, got 3"],
    [[], "to: argument 'target': expected a device, a dtype, a Tensor or options, got undefined"],
  ];
  for (const [args, text] of wrong) {
    const { code, message } = thrown(() => untyped.nn.Module.prototype.to.apply(net, args));
    expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringContaining(text)]);
  }
  net.dispose();
});

test('toEmpty gives a module on meta memory, in new parameters, and keeps those of another module', () => {
  const before = settled();
  const net = new nn.Sequential(new nn.Linear(2, 2, { device: 'meta' }), new nn.BatchNorm1d(2, { device: 'meta' }));
  const [weight] = net.parameters();
  expect(net.toEmpty({ device: 'cpu' })).toBe(net);
  const [made] = net.parameters();
  expect([made === weight, made!.device, made!.requiresGrad, made instanceof nn.Parameter]).toEqual([
    false,
    'cpu',
    true,
    true,
  ]);
  expect(net.namedBuffers().map(([name, one]) => [name, one.device, one.dtype])).toEqual([
    ['1.running_mean', 'cpu', 'float32'],
    ['1.running_var', 'cpu', 'float32'],
    ['1.num_batches_tracked', 'cpu', 'int64'],
  ]);
  net.toEmpty({ device: 'cpu' });
  expect(net.parameters()[0]).toBe(made);
  torch.disposeAll([net, weight]);
  expect(settled()).toEqual(before);
});

test('toEmpty without recurse leaves inner modules, and shared parameters stay shared', () => {
  class Net extends nn.Module {
    own = new nn.Parameter(torch.empty([2], { device: 'meta' }));
    a = new nn.Linear(2, 2, { device: 'meta' });
    b = new nn.Linear(2, 2, { device: 'meta' });
  }
  const net = new Net();
  net.b.weight = net.a.weight;
  net.toEmpty({ device: 'cpu', recurse: false });
  expect([net.own.device, net.a.weight.device]).toEqual(['cpu', 'meta']);
  net.toEmpty({ device: 'cpu' });
  expect([net.a.weight.device, net.b.weight === net.a.weight]).toEqual(['cpu', true]);
  const lazy = new nn.LazyLinear(3, { device: 'meta' }).toEmpty({ device: 'cpu' });
  expect(lazy.forward(torch.ones([2, 4])).shape).toEqual([2, 3]);
  const refused = [[], ['cpu'], [{}], [{ device: 'cpu', recurse: 1 }], [{ device: 'gpu' }]];
  for (const args of refused) expect(thrown(() => (net as any).toEmpty(...args)).code).toBe('ERR_TORCH_ARGUMENT');
});

test('a conversion that fails leaves no tensor behind', () => {
  class Large extends nn.Module {
    weight = new nn.Parameter(torch.empty([1e9, 1e6], { device: 'meta' }));
  }
  const large = new Large();
  settled();
  const { tensors } = torch.memory();
  expect(thrown(() => large.toEmpty({ device: 'cpu' })).code).toBe('ERR_TORCH_OUT_OF_MEMORY');
  expect(torch.memory().tensors).toBe(tensors);
  large.dispose();
});

test('to meta replaces parameters, with their gradients', () => {
  const net = new nn.Linear(2, 2);
  const { weight } = net;
  net
    .forward(torch.ones([1, 2]))
    .sum()
    .backward();
  net.to('meta');
  expect([net.weight.device, net.weight.grad!.device, weight.device]).toEqual(['meta', 'meta', 'cpu']);
  expect(net.weight).not.toBe(weight);
  expect(thrown(() => net.to('cpu')).code).toBe('ERR_TORCH_NOT_IMPLEMENTED');
});
