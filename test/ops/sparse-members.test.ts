/** Indices of sparse tensors that a program has changed after libtorch's check: an error, not foreign memory. */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';

test('a sparse tensor with indices outside of it is refused by each op, and can be read and corrected', async () => {
  const program = path.join(__dirname, 'sparse-members.cjs');
  const { code, signal, stdout, stderr } = await run(process.execPath, ['--no-warnings', program, LIB]);
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  const { ends, left } = JSON.parse(stdout) as { ends: Record<string, string>; left: number };
  const isRight = ([name, end]: [string, string]) =>
    name.startsWith('unchanged')
      ? !end.includes('indices inside')
      : /^ERR_TORCH_\w+ .*expected a sparse tensor with indices inside \[\d, \d\], got (index|offset|row|column) -?\d+ of \d/.test(
          end,
        );
  expect(Object.entries(ends).filter((one) => !isRight(one))).toEqual([]);
  expect(Object.keys(ends).length).toBe(132 + 2 + 1 + 44 + 6);
  expect(left).toBe(0);
});
