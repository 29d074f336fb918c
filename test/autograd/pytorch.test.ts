/** torch.autograd.grad against PyTorch's, for every call in the list of calls. */

import { calls, inputs, refusedGradients } from '../support/calls';
import { type Call, compare } from '../support/compare';
import { torch, untyped } from '../support/torch';

const names = Object.keys(inputs);

/** As grad_of of test/calls/oracle.py. */
function gradOf(fn: (...tensors: any[]) => unknown, ...tensors: any[]): unknown[] {
  const leaves = tensors.map((tensor) =>
    /float|complex/.test(tensor.dtype) ? tensor.detach().clone().requiresGrad_() : tensor,
  );
  const result = fn(...leaves);
  const results: unknown[] = Array.isArray(result) ? result : [result];
  const outputs = results.filter((item: any) => item instanceof torch.Tensor && item.requiresGrad) as any[];
  if (outputs.length === 0) return [];
  const given = leaves.filter((leaf) => leaf.requiresGrad);
  const gradOutputs = outputs.map((output) => untyped.onesLike(output));
  return torch.autograd.grad(outputs, given, { gradOutputs, allowUnused: true });
}

test('gradients are PyTorch’s', async () => {
  const list = names.join(', ');
  // Both refuse in-place writes to leaves; random ops need the same seed.
  const wrapped = calls.map(
    ([js, py]): Call => [`gradOf((${list}) => ${js}, ${list})`, `grad_of(lambda ${list}: ${py}, ${list})`],
  );
  const { wrong, failed } = await compare(inputs, wrapped, { gradOf });
  expect(wrong).toEqual([]);
  const unwrapped = new Map(wrapped.map(([whole], n) => [whole, calls[n]![0]]));
  expect([...new Set(failed.map((js) => unwrapped.get(js)))].sort()).toEqual([...refusedGradients].sort());
});
