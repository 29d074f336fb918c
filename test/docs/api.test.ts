/** `npm run docs`: no warnings, and a page for every op with the contents of its schema. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT, torch } from '../support/torch';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'api-'));
let outcome: Awaited<ReturnType<typeof run>>;

beforeAll(async () => {
  outcome = await run(process.execPath, [path.join(ROOT, 'scripts/docs.mjs'), '--out', folder], { limitMs: 600_000 });
}, 600_000);
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** The words of a page. */
const page = (file: string): string =>
  fs
    .readFileSync(path.join(folder, file), 'utf8')
    .replace(/<script.*?<\/script>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&gt;/g, '>')
    .replace(/&lt;/g, '<')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ');

test('typedoc succeeds without warnings', () => {
  expect(outcome.code).toBe(0);
  expect(outcome.stdout + outcome.stderr).not.toMatch(/warning|error/i);
});

test('every public op has a page, as a function and as a method', () => {
  const pages = new Set(fs.readdirSync(path.join(folder, 'functions')));
  const functionsOf = (space: object) =>
    Object.keys(space).filter((name) => !name.startsWith('_') && /^[a-z]/.test(name) && isOp(space, name));
  const isOp = (space: object, name: string) => typeof (space as Record<string, unknown>)[name] === 'function';
  const missing: string[] = [];
  const spaces: [string, object][] = [
    ['torch', torch],
    ...(['linalg', 'fft', 'special', 'sparse'] as const).map((name): [string, object] => [
      `torch.${name}`,
      torch[name],
    ]),
    ['torch.nn.functional', torch.nn.functional],
  ];
  let count = 0;
  for (const [space, object] of spaces) {
    for (const name of functionsOf(object)) {
      count++;
      if (!pages.has(`${space}.${name}.html`)) missing.push(`${space}.${name}`);
    }
  }
  const own = page('classes/torch.Tensor.html');
  for (let object = torch.Tensor.prototype; object !== Object.prototype; object = Object.getPrototypeOf(object)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      if (name.startsWith('_') || name === 'constructor' || typeof value !== 'function') continue;
      count++;
      if (!pages.has(`Tensor.${name}.html`) && !own.includes(`${name}(`) && !own.includes(`${name}<`))
        missing.push(`Tensor.${name}`);
    }
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(1800);
});

test('a page has the schema, the arguments, defaults, errors, and the first version', () => {
  const sum = page('functions/torch.sum.html');
  expect(sum).toContain('aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False');
  expect(sum).toContain('dimensions; negative ones count from the end');
  expect(sum).toContain('a boolean. Default: false');
  expect(sum).toContain('ERR_TORCH_INDEX for a dimension out of range');
  expect(sum).toMatch(/Since ?libtorch 1\.13 or before/);
  expect(page('functions/Tensor.add.html')).toContain('aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)');
  expect(page('functions/Tensor.add.html')).toContain('by name only. Default: 1');
  const loss = page('functions/torch.nn.functional.crossEntropy.html');
  expect(loss).toContain('torch.nn.functional.cross_entropy');
  expect(loss).toMatch(/Since ?any libtorch: the package composes it of ops/);
  expect(page('functions/torch.var.html')).toContain('aten::var');
  expect(page('functions/torch.scope.html')).toMatch(/scope/i);
  expect(page('classes/torch.Tensor.html')).toContain('requiresGrad');
  expect(page('types/types.Broadcast.html')).toContain('Broadcast');
});
