/** Transforms of images against torchvision's formulas, run by PyTorch. */
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { counts, settled, thrown, torch } from '../support/torch';

const t = torch.utils.data.transforms;
async function python(): Promise<Record<string, any>> {
  const { code, stdout, stderr } = await python3([path.join(__dirname, 'transforms.py')]);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const picture = (...shape: number[]): any =>
  torch.scope(() => {
    const count = shape.reduce((all, n) => all * n, 1);
    return torch.arange(count).mul(7919).remainder(256).to('uint8').reshape(shape);
  });

const jitter = () => new t.ColorJitter({ brightness: [0.6, 1.4], contrast: 0.5, saturation: [0.3, 1.7], hue: 0.2 });

const cases: Record<string, (pictures: { image: any; tall: any; floats: any }) => any> = {
  'resize, shorter edge': ({ image }) => new t.Resize(5).forward(image),
  'resize, tall': ({ tall }) => new t.Resize(4).forward(tall),
  'resize, larger': ({ image }) => new t.Resize([20, 31]).forward(image),
  'resize, floats': ({ floats }) => new t.Resize([4, 6]).forward(floats),
  'resize, bicubic': ({ image }) => new t.Resize([5, 6], { interpolation: 'bicubic' }).forward(image),
  'resize, no antialias': ({ image }) => new t.Resize([4, 5], { antialias: false }).forward(image),
  'resize, nearest': ({ image }) => new t.Resize([4, 5], { interpolation: 'nearest' }).forward(image),
  'resize, bicubic, int16': ({ image }) =>
    new t.Resize([5, 6], { interpolation: 'bicubic' }).forward(image.to('int16').mul(100).sub(9000)),
  'resize, float16': ({ floats }) => new t.Resize([5, 6]).forward(floats.to('float16')),
  'resize, nearest, int64': ({ image }) =>
    new t.Resize([4, 5], { interpolation: 'nearest' }).forward(image.to('int64').sub(9000)),
  center: ({ image }) => new t.CenterCrop([4, 7]).forward(image),
  'center, padded': ({ tall }) => new t.CenterCrop([6, 10]).forward(tall),
  'random crop': ({ image }) => new t.RandomCrop(6, { padding: 2, fill: 7 }).forward(image),
  flips: ({ image }) => {
    const flip = new t.RandomHorizontalFlip();
    return torch.stack(Array.from({ length: 12 }, () => flip.forward(image).flatten().select(0, 0)));
  },
  normalize: ({ floats }) => new t.Normalize([0.4, 0.5, 0.6], [0.2, 0.25, 0.3]).forward(floats),
  'to tensor': ({ image }) => new t.ToTensor().forward(image),
  jitter: ({ floats }) => jitter().forward(floats),
  'jitter, uint8': ({ image }) => jitter().forward(image),
  'jitter, int16': ({ image }) => jitter().forward(image.to('int16').mul(128)),
  'jitter, int8': ({ image }) => jitter().forward(image.div(2, { roundingMode: 'floor' }).to('int8')),
  'jitter, int32': ({ image }) => new t.ColorJitter({ brightness: [1.5, 1.5] }).forward(image.to('int32').mul(2 ** 22)),
};

test('each transform gives what torchvision gives, with the same random numbers', async () => {
  const expected = await python();
  expect(Object.keys(expected).sort()).toEqual(Object.keys(cases).sort());
  const before = settled();
  for (const [name, run] of Object.entries(cases)) {
    torch.scope(() => {
      const image = picture(3, 9, 14);
      torch.manualSeed(11);
      const made = run({ image, tall: picture(3, 15, 7), floats: image.to('float32').div(255) });
      const wanted = torch.tensor(expected[name]);
      expect([name, made.shape]).toEqual([name, wanted.shape]);
      // Integers are equal, except where float32 rounds a half.
      const difference = made.to('float32').sub(wanted).abs().max().item();
      expect([name, difference < (made.dtype === 'float32' ? 2e-5 : 1.5)]).toEqual([name, true]);
      if (made.dtype !== 'float32') {
        const unequal = made.to('float32').ne(wanted).to('float32').mean().item();
        expect([name, unequal < 0.01]).toEqual([name, true]);
      }
    });
  }
  expect(counts()).toEqual(before);
});

test('Compose: steps in order, functions and promises; nothing between them is left', async () => {
  const before = settled();
  const image = picture(1, 8, 8);
  const steps = new t.Compose([new t.Resize(4), (x: any) => x.add(1), new t.ToTensor()]);
  const made = steps.forward(image);
  expect([made.shape, made.dtype, counts().tensors]).toEqual([[1, 4, 4], 'float32', before.tensors + 2]);
  const later = new t.Compose([async (x: any) => x.mul(2), new t.CenterCrop(2)]);
  const late = await later.forward(image);
  expect([late.shape, counts().tensors]).toEqual([[1, 2, 2], before.tensors + 3]);
  torch.disposeAll([image, made, late]);
  expect(counts()).toEqual(before);
});

test('random numbers are those of the sample: the same in any batch', () => {
  const crop = new t.Compose([new t.RandomCrop(3), new t.RandomHorizontalFlip()]);
  const image = torch.keep(picture(1, 9, 9));
  const getItem = (_: number, context: any) => crop.forward(image, context);
  const make = (batchSize: number) =>
    new torch.utils.data.DataLoader(
      { length: 12, getItem },
      { batchSize, generator: new torch.Generator().manualSeed(5) },
    );
  torch.scope(() => {
    const [one, four] = [1, 4].map((size) => torch.cat([...make(size)]).toArray());
    expect(four).toEqual(one);
    expect(new Set((one as unknown[]).map(String)).size).toBeGreaterThan(3);
  });
  image.dispose();
});

test('refuses what is not an image, by name', () => {
  const refused = (run: () => unknown) => thrown(run).message;
  expect(refused(() => new t.Resize(0))).toMatch(/Resize: argument 'size': expected an integer above 0/);
  expect(refused(() => new t.CenterCrop([1] as never))).toMatch(/\[height, width\]/);
  expect(refused(() => new t.Normalize([1], [0]))).toMatch(/other than 0/);
  expect(refused(() => new t.ColorJitter({ hue: 0.1 }).forward(picture(3, 2, 2).to('int32')))).toMatch(
    /expected a Tensor of floats or of integers of at most 16 bits, to change the hue/,
  );
  expect(refused(() => new t.ColorJitter({ hue: 0.6 }))).toMatch(/'hue': expected at most 0.5/);
  expect(refused(() => new t.RandomHorizontalFlip(2))).toMatch(/a probability from 0 to 1/);
  torch.scope(() => {
    expect(refused(() => new t.Resize(4).forward(torch.zeros([3, 0, 4])))).toMatch(/a Tensor of at least one pixel/);
    expect(refused(() => new t.RandomCrop(9).forward(picture(1, 8, 8)))).toMatch(/at least 9 × 9, got 8 × 8/);
    expect(refused(() => new t.Normalize([1, 1], [1, 1]).forward(picture(3, 2, 2)))).toMatch(/of floats/);
    expect(refused(() => new t.ToTensor().forward({} as never))).toMatch(/or \{ data, info \} of sharp/);
  });
});
