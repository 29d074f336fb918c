/** PyTorch's other names of dtypes: 'float' wherever 'float32' is accepted; results have the dtype's own name. */
import { torch, untyped } from '../support/torch';

const names = {
  half: 'float16',
  float: 'float32',
  double: 'float64',
  short: 'int16',
  int: 'int32',
  long: 'int64',
  cfloat: 'complex64',
  cdouble: 'complex128',
} as const;

test.each(Object.entries(names))('%s is %s', (name, dtype) => {
  expect(untyped[name]).toBe(dtype);
  expect(untyped.zeros([2], { dtype: name }).dtype).toBe(dtype);
  expect(untyped.tensor([1, 2], { dtype: name }).dtype).toBe(dtype);
  expect(torch.ones([2]).to(name as 'float').dtype).toBe(dtype);
  expect(untyped.ones([2]).to({ dtype: name }).dtype).toBe(dtype);
  expect(untyped.asTensor([1, 2], { dtype: name }).dtype).toBe(dtype);
  expect(untyped.ones([2]).newTensor([1], { dtype: name }).dtype).toBe(dtype);
  expect(untyped.ones([2]).type(name).dtype).toBe(dtype);
  expect(untyped.ops.aten.zeros.default([2], { dtype: name }).dtype).toBe(dtype);
});

test('as an argument of an op, a reduction and a query', async () => {
  expect(torch.ones([2]).sum({ dtype: 'double' }).dtype).toBe('float64');
  expect(torch.ones([2]).softmax(0, 'double').dtype).toBe('float64');
  expect(torch.arange(3, { dtype: 'short' }).toTypedArray()).toEqual(new Int16Array([0, 1, 2]));
  expect(torch.zeros([2], { dtype: 'int' }).view('float').dtype).toBe('float32');
  expect((await torch.async.zeros([2], { dtype: 'long' })).dtype).toBe('int64');
  expect(torch.finfo('half').dtype).toBe('float16');
  expect(torch.iinfo('short').max).toBe(32767);
  expect(torch.frombuffer(new ArrayBuffer(8), { dtype: 'float' }).shape).toEqual([2]);
});

test('the default dtype by its other name', () => {
  try {
    torch.setDefaultDtype('double');
    expect(torch.getDefaultDtype()).toBe('float64');
    expect(torch.tensor([0.1]).item()).toBe(0.1);
  } finally {
    torch.setDefaultDtype('float');
  }
  expect(torch.getDefaultDtype()).toBe('float32');
});

test.each(['flaot', 'toString', '__proto__', ''])('%p is not a dtype', (name) => {
  expect(() => untyped.zeros([2], { dtype: name })).toThrow(expect.objectContaining({ code: 'ERR_TORCH_OVERLOAD' }));
  expect(() => untyped.tensor([2], { dtype: name })).toThrow(expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT' }));
});

test('int64 beyond the range of a number is an exact bigint', () => {
  const big = torch.tensor([2n ** 53n + 1n]);
  expect(BigInt(big.item())).toBe(2n ** 53n + 1n);
  expect(typeof (big.item() as unknown)).toBe('bigint');
  expect(torch.tensor([7n]).item()).toBe(7);
});
