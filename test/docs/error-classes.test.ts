/** Each code of an error has one class, that of the table in docs/errors.md. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT, thrown, torch } from '../support/torch';

const table = fs.readFileSync(path.join(ROOT, 'docs/errors.md'), 'utf8');
const classes = new Map(
  [...table.matchAll(/^\| `(ERR_TORCH_\w+)` \| (\w*Error) \|/gm)].map(([, code, name]) => [code!, name!]),
);
const files = execFileSync('git', ['ls-files', 'lib'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((name) => name.endsWith('.ts'));

test('the library makes errors of these classes', () => {
  const made = files.flatMap((file) =>
    [...fs.readFileSync(path.join(ROOT, file), 'utf8').matchAll(/codedError\(\s*(\w+),\s*'(ERR_TORCH_\w+)'/g)].map(
      ([, name, code]) => ({ file, name: name!, code: code! }),
    ),
  );
  expect(made.length).toBeGreaterThan(100);
  expect(made.filter(({ name, code }) => classes.get(code) !== name)).toEqual([]);
});

test('such as a state dict that does not fit, and an image that is too small', () => {
  const layer = new torch.nn.Linear(2, 2);
  const crop = new torch.utils.data.transforms.RandomCrop(2);
  for (const call of [() => layer.loadStateDict({}), () => crop.forward(torch.zeros([3, 1, 1]))]) {
    const error = thrown(call);
    expect([error.code, error.name]).toEqual(['ERR_TORCH_ARGUMENT', 'TypeError']);
  }
  layer.dispose();
});
