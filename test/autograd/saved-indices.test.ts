/** Backwards whose saved indices a program has changed without autograd's knowledge: an error, not foreign memory. */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';

test('indices changed between forward and backward are refused by the backward', async () => {
  const program = path.join(__dirname, 'saved-indices.cjs');
  const { code, signal, stdout, stderr } = await run(process.execPath, ['--no-warnings', program, LIB]);
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  const { ends, left } = JSON.parse(stdout) as { ends: Record<string, string>; left: number };
  const isRight = ([name, end]: [string, string]) =>
    name.endsWith('unchanged') ? end === 'gradients' : /^ERR_TORCH_\w+ backward: .*(expected|out of range)/i.test(end);
  expect(Object.entries(ends).filter((one) => !isRight(one))).toEqual([]);
  expect(Object.keys(ends).length).toBe(78);
  expect(left).toBe(0);
});
