/** torch.cuda: PyTorch's behaviour without a device; with one, its memory. */

import * as path from 'node:path';
import { run } from '../support/child';
import { python } from '../support/python';
import { codeOf, counts, ROOT, settled, thrown, torch, untyped } from '../support/torch';

/** Only one of the two kinds is defined on a machine, because a skipped test counts as a failure. */
const absent = (_name: string, _test: () => unknown): void => {};
const withDevice = torch.cuda.isAvailable() ? it : absent;
const withoutDevice = torch.cuda.isAvailable() ? absent : it;

describe('torch.cuda', () => {
  withoutDevice('behaves as PyTorch without a device', async () => {
    const names = ['is_available', 'device_count', 'memory_allocated', 'memory_reserved', 'empty_cache'];
    const oracle = await python(names.map((name) => `torch.cuda.${name}()`));
    expect(oracle.map(({ value, error }) => error ?? value ?? null)).toEqual([false, 0, 0, 0, null]);
    const { isAvailable, deviceCount, memory, emptyCache } = torch.cuda;
    const held = memory();
    expect([isAvailable(), deviceCount(), held.allocatedBytes, held.reservedBytes, emptyCache() ?? null]).toEqual([
      false,
      0,
      0,
      0,
      null,
    ]);
    for (const device of [0, 3, 'cuda', 'cuda:1'] as const) {
      expect(memory(device)).toEqual({
        allocatedBytes: 0,
        reservedBytes: 0,
        peakAllocatedBytes: 0,
        peakReservedBytes: 0,
      });
    }
  });

  withoutDevice('says what to do if a device is needed', () => {
    for (const name of ['synchronize', 'currentDevice'] as const) {
      const error = thrown(() => torch.cuda[name]());
      expect(error).toMatchObject({ code: 'ERR_TORCH_CUDA', op: `cuda.${name}` });
      expect(error.message).toMatch(/no CUDA: unpack|finds no device/);
    }
    const before = settled();
    const x = torch.zeros([2]);
    const calls = [
      () => torch.zeros([2], { device: 'cuda' }),
      () => torch.tensor([2], { device: 'cuda:1' }),
      () => x.to('cuda'),
      () => x.to({ device: 'cuda:0' }),
      () => new torch.Generator('cuda'),
    ];
    for (const call of calls) {
      const error = thrown(call);
      expect(error).toMatchObject({ code: 'ERR_TORCH_CUDA', argument: 'device' });
      expect(error.message).toMatch(/'cuda(:\d)?' is not available: .*(no CUDA: unpack|finds no device)/);
    }
    expect(thrown(() => x.to('mps')).message).toMatch(/'device': expected a device that this libtorch has, got 'mps'/);
    x.dispose();
    expect(counts()).toEqual(before);
  });

  it.each(['library', 'models'])('the program %s for a device passes, with the CPU as its device', async (name) => {
    const file = path.join(ROOT, 'test/cuda/programs', `${name}.mjs`);
    const env = { ...process.env, LTN_TEST_DEVICE: 'cpu', PYTHON: '/usr/bin/python3' };
    const { code, stdout, stderr } = await run(process.execPath, ['--expose-gc', file], { env });
    expect({ code, text: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, text: '' });
    expect(stdout.match(/^✓/gm)!.length).toBeGreaterThan(3);
  });

  it('refuses values that are not CUDA devices', () => {
    for (const device of ['cpu', 'cuda:', 'cuda:x', 'cuda:-1', -1, 0.5, Number.NaN, null, {}, 1n]) {
      const error = thrown(() => untyped.cuda.memory(device));
      expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'cuda.memory', argument: 'device' });
    }
  });

  it('is a named export with exactly these names', () => {
    expect(Object.keys(torch.cuda).sort()).toEqual([
      'currentDevice',
      'deviceCount',
      'emptyCache',
      'isAvailable',
      'memory',
      'synchronize',
    ]);
  });

  withDevice('counts the memory of tensors on the device, and frees the cache', () => {
    const before = torch.cuda.memory(0);
    const tensor = torch.zeros([1 << 20], { device: 'cuda:0' });
    expect(torch.cuda.memory(0).allocatedBytes).toBe(before.allocatedBytes + (4 << 20));
    expect(torch.memory().devices['cuda:0']).toMatchObject({
      bytes: 4 << 20,
      allocatedBytes: torch.cuda.memory('cuda:0').allocatedBytes,
    });
    expect(codeOf(() => torch.cuda.memory(torch.cuda.deviceCount()))).toBe('ERR_TORCH_ARGUMENT');
    tensor.dispose();
    torch.cuda.synchronize();
    torch.cuda.emptyCache();
    expect(torch.cuda.memory(0).allocatedBytes).toBe(before.allocatedBytes);
    expect(torch.cuda.memory(0).reservedBytes).toBeLessThanOrEqual(before.reservedBytes);
  });

  withDevice('the memory of a loop that drops 64 GiB of device tensors stays small', () => {
    for (let i = 0; i < 4096; i++) torch.empty([1 << 22], { device: 'cuda' });
    expect(torch.cuda.memory().peakReservedBytes).toBeLessThan(2 ** 31);
  });
});
