/** examples/images: images are made, learned by a ResNet, and read over HTTP by the service. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Images, readImage } from '../../examples/images/dataset';
import { loadModel } from '../../examples/images/served';
import { startHttpService } from '../support/http-service';
import { balancedAsync, ROOT, torch } from '../support/torch';
import { type Outcome, run, start } from './programs';

jest.setTimeout(240_000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'images-'));
const at = (...names: string[]) => path.join(folder, ...names);
const small = ['--folder', folder, '--pictures', '1000', '--epochs', '5'];
let trained: Outcome;
beforeAll(async () => {
  trained = await start('../images/main.js', small, { OMP_NUM_THREADS: '1' }).ended;
});
let service: Awaited<ReturnType<typeof startHttpService>> | undefined;
afterAll(async () => {
  await service?.kill();
  fs.rmSync(folder, { recursive: true, force: true });
});

test('it makes images, learns from them, and reads most of the others', () => {
  expect(trained).toMatchObject({ code: 0, stderr: '' });
  const lines = trained.stdout.trimEnd().split('\n');
  expect(lines[0]).toBe('1000 images to learn from, 1000 to test with');
  expect(lines.slice(1, -1)).toHaveLength(5);
  const percents = lines.slice(1, -1).map((line) => {
    return Number(/^epoch \d: loss [\d.]+, reads ([\d.]+) %, \d+ images a second$/.exec(line)?.[1]);
  });
  expect(percents.at(-1)).toBeGreaterThan(70);
  expect(lines.at(-1)).toBe(`saved ${at('resnet.safetensors')}`);
});

test('the data set has the pixels of the files, and the loader the same images with and without workers', async () => {
  const images = new Images(at('validation'));
  expect(images.classes).toEqual([...'0123456789']);
  expect(images.length).toBe(1000);
  const batches = async (numWorkers: number) => {
    const loader = new torch.utils.data.DataLoader(images, { batchSize: 500, numWorkers });
    const sums: unknown[] = [];
    for await (const [x, y] of loader as AsyncIterable<InstanceType<typeof torch.Tensor>[]>) {
      sums.push([x!.shape, x!.dtype, x!.sum().item(), x!.max().item(), y!.dtype, y!.toArray()]);
      torch.disposeAll([x, y]);
    }
    await loader.dispose();
    return sums;
  };
  const alone = await batches(0);
  expect(alone).toHaveLength(2);
  expect(alone[0]).toEqual([[500, 1, 28, 28], 'float32', expect.any(Number), 1, 'int64', expect.any(Array)]);
  expect(await batches(2)).toEqual(alone);
  expect(() => new Images(at('training', '3'))).toThrow('expected folders of images, got none');
});

test('the service answers with the class of an image, and refuses other files', async () => {
  const { code, stderr } = await run('../images/pixels.js', []);
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'usage: node pixels.js IMAGE\n' });
  const args = ['--model', at('resnet.safetensors'), '--loader', path.join(ROOT, 'dist/examples/images/served.js')];
  service = await startHttpService('service/main.js', [...args, '--port', '0']);
  const { files } = new Images(at('validation'));
  let right = 0;
  const asked = files.filter((_, i) => i % 20 === 0);
  for (const [file, label] of asked) {
    const pixels = await torch.scope(async () => (await readImage(file)).toTypedArray() as Float32Array);
    const headers = { 'content-type': 'application/octet-stream' };
    const answer = await fetch(`${service.url}/classify`, {
      method: 'POST',
      body: Buffer.from(pixels.buffer),
      headers,
    });
    right += Number(((await answer.json()) as { digit: number }).digit === label);
  }
  expect(asked).toHaveLength(50);
  expect(right).toBeGreaterThan(30);
  expect((await service.end()).stderr).toBe('');
});

test('a file that is not this net is refused with a reason, and leaves nothing behind', async () => {
  await balancedAsync(async () => {
    const bytes = torch.scope(() => torch.safetensors.serialize({ weight: torch.zeros([2]) }));
    await expect(loadModel({ bytes, version: '1' })).rejects.toThrow(/missing|unexpected/i);
    await expect(loadModel({ bytes: new Uint8Array(5), version: '1' })).rejects.toMatchObject({
      code: 'MODEL_REFUSED',
    });
  });
});
