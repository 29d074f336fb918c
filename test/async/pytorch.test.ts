/** The calls that test/calls compares with PyTorch, recorded and run on the pool: results and errors are the same. */
import { isDeepStrictEqual } from 'node:util';
import { calls, inputs } from '../support/calls';
import { torch, untyped } from '../support/torch';

const plain = (value: any): unknown => {
  if (value instanceof torch.Tensor) {
    const dense = value.layout === 'strided' ? value : (value as any).toDense();
    return [value.dtype, value.layout, value.shape, dense.toArray()];
  }
  return Array.isArray(value) ? value.map(plain) : value;
};

test('results are those of synchronous calls', async () => {
  const names = Object.keys(inputs);
  const make = new Function('torch', `return [${names.map((name) => inputs[name]![0]).join(', ')}]`);
  const wrong: string[] = [];
  const looked: string[] = []; // calls that read pending results
  for (const [js] of calls) {
    const call = new Function('torch', 'F', ...names, `return ${js}`);
    await torch.scope(async () => {
      const made: any[] = make(untyped);
      const here = await new Promise((resolve) =>
        resolve(plain(call(untyped, untyped.nn.functional, ...made.map((x) => x.clone())))),
      ).catch((error) => error.code);
      const there = await untyped
        .run((t: any) => call(t, t.nn.functional, ...made.map((x) => t.clone(x))))
        .then(plain, (error: any) => error.code);
      if (there === 'ERR_TORCH_PENDING') looked.push(js);
      else if (!isDeepStrictEqual(here, there))
        wrong.push(`${js}: ${JSON.stringify(there)} for ${JSON.stringify(here)}`);
    });
  }
  expect(wrong).toEqual([]);
  expect(looked).toEqual([]);
});
