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

test('such as for a state dict that does not fit, an image that is too small, and a gradient of another shape', () => {
  const layer = new torch.nn.Linear(2, 2);
  const crop = new torch.utils.data.transforms.RandomCrop(2);
  const y = torch.ones([2], { requiresGrad: true }).mul(2);
  const calls = [
    () => layer.loadStateDict({}),
    () => crop.forward(torch.zeros([3, 1, 1])),
    () => torch.autograd.backward([y], { gradTensors: [torch.ones([3])] }), // found in native code
  ];
  for (const call of calls) {
    const error = thrown(call);
    expect([error.code, error.name]).toEqual(['ERR_TORCH_ARGUMENT', 'TypeError']);
  }
  layer.dispose();
});
