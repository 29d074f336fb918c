/** Results and errors of calls, against PyTorch on the same libtorch: values, dtype, shape. */
import { calls, inputs, refused } from '../support/calls';
import { compare } from '../support/compare';

test('results are PyTorch’s', async () => {
  const { wrong, failed } = await compare(inputs, calls);
  expect(wrong).toEqual([]);
  expect(calls.length).toBeGreaterThan(500);
  expect([...new Set(failed)].sort()).toEqual([...refused].sort());
});
