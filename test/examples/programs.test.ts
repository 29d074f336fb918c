/** The built single-file examples: they print the expected results. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT, run } from './programs';

jest.setTimeout(240_000);

/** The lines of stdout of an example that succeeds without stderr. */
async function lines(name: string, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(`../${name}.js`, args);
  expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

/** The numbers in a text. */
const numbers = (text: string | undefined): number[] => text?.match(/-?\d+(\.\d+)?/g)?.map(Number) ?? [];

test('regression: finds the slopes and the offset of the points', async () => {
  const said = await lines('regression');
  const losses = said.slice(0, 4).map((line) => numbers(line)[1]!);
  expect(losses[0]).toBeGreaterThan(5);
  expect(losses[3]).toBeLessThan(0.02);
  const [first, second, offset] = numbers(said[4]);
  expect(first).toBeCloseTo(3, 1);
  expect(second).toBeCloseTo(-2, 1);
  expect(offset).toBeCloseTo(0.5, 1);
  expect(said[5]).toBe('least squares agrees: true');
});

test('convnet: reads most held-out digits', async () => {
  const said = await lines('convnet', '--steps', '60');
  expect(said).toHaveLength(4);
  const [digits, percent] = numbers(said[3]);
  expect(digits).toBe(1670);
  expect(percent).toBeGreaterThan(75);
});

test('attention: recites the rhyme', async () => {
  const said = await lines('attention');
  expect(said.at(-1)).toMatch(/^twinkle twinkle little star how i wonder what you are/);
});

test('layers: shapes at run time are those of the types', async () => {
  expect(await lines('layers')).toEqual([
    '5 rows of 20 give 5 × 3',
    expect.stringMatching(/^4 rows give 4 × 3, largest (above|below) 0$/),
    'at run time too: ERR_TORCH_RUNTIME',
    'at run time too: ERR_TORCH_RUNTIME',
    `${20 * 8 + 8 + 8 * 3 + 3} parameters`,
  ]);
});

test('numbers: dtypes, exact integers, and a symmetric set', async () => {
  const said = await lines('numbers');
  expect(said.slice(0, 3)).toEqual([
    'int16, float32, int64 (6), bool',
    'BigInt64Array(2) [ 4611686018427387905n, 0n ]',
    '[ 4 ] [ 260 ]',
  ]);
  const set = said.slice(3, 20);
  expect(set).toEqual([...set].reverse());
  expect(set[8]).toContain('#'.repeat(30));
  expect(set[0]!.trim()).toBe('+');
  expect(said[20]).toBe('Complex { re: 0.5, im: -0.25 } Complex { re: -0.25, im: 0.5 }');
});

test('edges: a closed ring', async () => {
  const said = await lines('edges');
  const rows = said.slice(0, 16);
  expect(rows.every((row) => /^[.#]{32}$/.test(row))).toBe(true);
  expect(rows[7]).toMatch(/^\.+##\.{22}##\.+$/);
  const marked = rows.join('').replace(/\./g, '').length;
  expect(said[16]).toBe(`${marked} of 512 pixels are edges, dtype uint8`);
});

test('images: the edges of an image, in and out through sharp', async () => {
  const said = await lines('images');
  const [width, height, red, green, blue, marked] = numbers(said[0]);
  expect([width, height]).toEqual([96, 64]);
  // The drawing: a dark blue background, a yellow disc of radius 18, a red box of 24 × 32.
  expect(red).toBeGreaterThan(blue!);
  expect(red).toBeGreaterThan(green!);
  expect(marked).toBeGreaterThan(100);
  expect(marked).toBeLessThan(2000);
  expect(said[1]).toBe('png of 96 × 64, tensors left: 0');
});

test('spectrum: the three tones', async () => {
  expect(await lines('spectrum')).toEqual([
    'complex64 of 4001 frequencies up to 4000 Hz',
    '440 Hz, loudness 1.0',
    '659 Hz, loudness 0.5',
    expect.stringMatching(/^1250 Hz, loudness 0\.[23]$/),
  ]);
});

test('pca: more components keep more variance, and the error is the variance left out', async () => {
  const said = await lines('pca');
  const shares = said.slice(0, 5).map((line) => numbers(line)[1]!);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares[4]).toBeLessThanOrEqual(100);
  const [size, missed] = numbers(said[5]);
  expect(size).toBe(50);
  expect(missed! + shares[3]!).toBeCloseTo(100, 0);
  expect(said[6]).toBe('the axes are orthonormal: true');
});

test('kmeans: the groups that the points were drawn from', async () => {
  const said = await lines('kmeans');
  expect(said[0]).toMatch(/^settled after \d+ rounds$/);
  const centres = said.slice(1, 4).map(numbers);
  const drawn = [
    [0, 0],
    [2, 6],
    [5, 1],
  ];
  for (const [i, [x, y]] of centres.entries())
    expect(Math.hypot(x! - drawn[i]![0]!, y! - drawn[i]![1]!)).toBeLessThan(0.5);
  expect(numbers(said[4])[0]).toBeGreaterThan(95);
});

test('pipeline: every part is computed, and all tensors are freed', async () => {
  const said = await lines('pipeline');
  expect(said[0]).toMatch(/^part-00: mean \d\.\d\d, [0-9a-f]{8}$/);
  // Part i has a variance of (i + 1)².
  for (const [i, line] of said.slice(0, 3).entries()) expect(numbers(line)[1]! / (i + 1) ** 2).toBeCloseTo(1, 1);
  expect(said.slice(3)).toEqual(['12 parts, 4 at once', 'tensors left: 0']);
});

test('batches: less memory takes more chunks, with the same result', async () => {
  const little = await lines('batches', '--limit', '32');
  const much = await lines('batches', '--limit', '512');
  const [, chunks, rows, refused] = numbers(little[0]);
  expect(refused).toBeGreaterThan(0);
  expect(chunks).toBe(4096 / rows!);
  expect(much[0]).toBe('within 512 MB: 1 chunks of at most 4096 rows, 0 refused on the way');
  expect(little[1]).toBe(much[1]);
  expect(numbers(little[1])[1]).toBeGreaterThan(0);
});

test('every example is in the list', () => {
  const list = fs.readFileSync(path.join(ROOT, 'examples/README.md'), 'utf8');
  // A build places the JavaScript of each beside it.
  const found = fs.readdirSync(path.join(ROOT, 'examples'));
  const names = found.filter((name) => name !== 'README.md' && !name.endsWith('.js'));
  expect(names.filter((name) => !list.includes(`](${name.endsWith('.ts') ? name : `${name}/`}`))).toEqual([]);
  expect(names.length).toBeGreaterThanOrEqual(10);
});
