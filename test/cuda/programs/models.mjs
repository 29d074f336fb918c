/** Models of Python on the device: TorchScript, frozen, fused and optimized, and AOTInductor packages. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import torch from 'libtorch-node';
import { check, collected, held, runAll } from './checks.mjs';

const device = process.env.LTN_TEST_DEVICE ?? 'cuda';
const name = device === 'cuda' ? 'cuda:0' : device;
const python = process.env.PYTHON ?? 'python3';
const folder = mkdtempSync(path.join(os.tmpdir(), 'cuda-models-'));
const at = (file) => path.join(folder, file);
/** AOTInductor needs 2.6. */
const [major, minor] = torch.libtorchVersion.split('.').map(Number);
const isCompiled = major > 2 || (major === 2 && minor >= 6);
execFileSync(python, [path.join(import.meta.dirname, 'models.py'), folder, ...(isCompiled ? ['compiled'] : [])], {
  stdio: ['ignore', 2, 2],
});

const TOLERANCE = { rtol: 1e-4, atol: 1e-5 };
const list = (value) => (Array.isArray(value) ? value.flatMap(list) : [value]);

function same(got, expected) {
  const [found, wanted] = [list(got), list(expected)];
  assert.equal(found.length, wanted.length);
  for (const [i, one] of found.entries()) {
    assert.equal(one.device, name);
    assert.ok(torch.allclose(one, wanted[i], TOLERANCE), `result ${i}: expected ${wanted[i]}, got ${one}`);
  }
}

for (const title of ['convolutions', 'recurrent', 'pointwise']) {
  check(`TorchScript: ${title}`, async () => {
    const before = held();
    const { inputs, output } = await torch.load(at(`${title}.values.pt`));
    const model = torch.jit.load(at(`${title}.pt`)); // to the device from which it was saved
    // The profiling executor specializes and fuses in its second call and later.
    for (let i = 0; i < 5; i++) torch.scope(() => same(model.forward(...inputs), output));
    await torch.scope(async () => same(await model.async.forward(...inputs), output));
    torch.scope(() => same(torch.jit.freeze(model).forward(...inputs), output));
    torch.scope(() => same(torch.jit.optimizeForInference(model).forward(...inputs), output));
    model.to('cpu');
    torch.scope(() => {
      const results = list(model.forward(...inputs.map((one) => one.cpu())));
      for (const [i, one] of results.entries()) {
        assert.equal(one.device, 'cpu');
        assert.ok(torch.allclose(one, list(output)[i].cpu(), { rtol: 1e-3, atol: 1e-4 }));
      }
    });
    if (title !== 'pointwise' && device !== 'cpu') {
      const error = await model.async.forward(...inputs).then(
        () => assert.fail('a model on the CPU took tensors on the device'),
        (reason) => reason,
      );
      assert.match(error.code, /^ERR_TORCH_/);
    }
    model.dispose();
    torch.disposeAll([inputs, output]);
    await collected(() => held() === before);
  });
}

for (const title of isCompiled ? ['mlp', 'convolutions'] : []) {
  check(`AOTInductor: ${title}`, async () => {
    const before = held();
    const { inputs, output } = await torch.load(at(`${title}.pt2.values.pt`));
    const model = torch.inductor.aotiLoadPackage(at(`${title}.pt2`), { numRunners: 2, deviceIndex: 0 });
    assert.equal(model.metadata.AOTI_DEVICE_KEY, device);
    for (let i = 0; i < 3; i++) torch.scope(() => same(model.forward(...inputs), output));
    await torch.scope(async () => {
      const all = await Promise.all(Array.from({ length: 16 }, () => model.async.forward(...inputs)));
      for (const one of all) same(one, output);
    });
    const refused = (wrong) =>
      assert.throws(
        () => model.forward(...wrong),
        (error) => error.code === 'ERR_TORCH_ARGUMENT' && /input_0|cuda/.test(error.message),
      );
    if (device !== 'cpu') torch.scope(() => refused(inputs.map((one) => one.cpu())));
    // From 2.7 on packages say which dtypes and sizes they take.
    if (major > 2 || minor > 6) {
      torch.scope(() => refused(inputs.map((one) => one.to('float64'))));
      torch.scope(() => refused(inputs.map((one) => one.select(0, 0))));
    }
    if (title === 'mlp') {
      torch.scope(() => {
        const x = torch.randn([11, 6], { device });
        assert.deepEqual(model.forward(x).shape, [11, 3]);
      });
      if (device !== 'cpu') {
        const load = () => torch.inductor.aotiLoadPackage(at('mlp.pt2'), { deviceIndex: 120 });
        assert.throws(load, (error) => /^ERR_TORCH_/.test(error.code));
      }
    }
    model.dispose();
    assert.throws(() => model.forward(...inputs), { code: 'ERR_TORCH_DISPOSED' });
    torch.disposeAll([inputs, output]);
    await collected(() => held() === before);
  });
}

check('nothing is left', async () => {
  await collected(() => torch.memory().tensors === 0);
});

await runAll('models');
rmSync(folder, { recursive: true });
