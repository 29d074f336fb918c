/** All functions accept a device in the same form: a name, or the index of a GPU, as in PyTorch. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { balanced, thrown, torch, untyped } from '../support/torch';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'devices-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
const inFolder = (name: string) => path.join(folder, name);

const x = () => torch.ones([2]) as any;
const takers: Record<string, (device: unknown) => unknown> = {
  tensor: (device) => untyped.tensor([1], { device }),
  asTensor: (device) => untyped.asTensor([1], { device }),
  newTensor: (device) => x().newTensor([1], { device }),
  zeros: (device) => untyped.zeros([1], { device }),
  full: (device) => untyped.full([1], 1, { device }),
  'x.to': (device) => x().to({ device }),
  Generator: (device) => new untyped.Generator(device),
  load: (device) => untyped.load(inFolder('a.pt'), { device }),
  'npy.load': (device) => untyped.npy.load(inFolder('a.npy'), { device }),
  'safetensors.load': (device) => untyped.safetensors.load(inFolder('a.st'), { device }),
};

beforeAll(() => {
  torch.scope(() => {
    torch.save({ a: x() }, inFolder('a.pt'));
    torch.npy.save(x(), inFolder('a.npy'));
    torch.safetensors.save({ a: x() }, inFolder('a.st'));
  });
});

// An index that is not a GPU on any machine.
test.each(Object.entries(takers))('%s takes a number as a GPU', (_name, take) => {
  balanced(() =>
    torch.scope(() => {
      const [byNumber, byName] = [thrown(() => take(99)), thrown(() => take('cuda:99'))];
      expect([byNumber.code, byNumber.message]).toEqual([byName.code, byName.message]);
      expect(byNumber.message).toContain("argument 'device'");
    }),
  );
});

test.each(Object.entries(takers))('%s refuses what is not a device', (_name, take) => {
  balanced(() =>
    torch.scope(() => {
      for (const device of [-1, 1.5, 0n, [], true, 'gpu']) {
        const { code, message } = thrown(() => take(device));
        expect(code).toMatch(/^ERR_TORCH_(ARGUMENT|OVERLOAD)$/);
        expect(message).toMatch(/argument 'device'.*: expected .*device.*, got /);
      }
    }),
  );
});
