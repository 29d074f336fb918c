/** The value for torch.setMemoryLimit. */
import { adviseLimit } from '../../cli/doctor/limit';
import { GIB, MIB } from './machine';

const advise = (limitBytes: number, heapLimitBytes: number, baselineBytes = 200 * MIB) =>
  adviseLimit({ limitBytes, heapLimitBytes, baselineBytes });

it('is the limit minus the heap, the start and 5%', () => {
  expect(advise(8 * GIB, 2 * GIB)).toEqual({ bytes: 5534 * MIB, heapMiB: null, fits: true }); // 7782 - 2048 - 200
});

it('suggests a smaller heap if the heap takes the tensors\u2019 part', () => {
  expect(advise(GIB, 4 * GIB)).toEqual({ bytes: 516 * MIB, heapMiB: 256, fits: true }); // 972 - 256 - 200
  expect(advise(4 * GIB, 2 * GIB)).toEqual({ bytes: 1643 * MIB, heapMiB: null, fits: true });
});

it('says if nothing is left', () => {
  expect(advise(256 * MIB, 2 * GIB)).toEqual({ bytes: 0, heapMiB: 64, fits: false });
  expect(advise(200 * MIB, 48 * MIB)).toEqual({ bytes: 0, heapMiB: null, fits: false });
});

it('never exceeds the limit, and never grows when the limit shrinks', () => {
  for (const heap of [64 * MIB, GIB, 4 * GIB]) {
    let before = Number.POSITIVE_INFINITY;
    for (let limit = 16 * GIB; limit >= 64 * MIB; limit = Math.floor(limit * 0.83)) {
      const { bytes, heapMiB, fits } = advise(limit, heap);
      expect(bytes).toBeLessThanOrEqual(limit);
      if (fits) expect(bytes + (heapMiB === null ? heap : heapMiB * MIB) + 200 * MIB).toBeLessThanOrEqual(limit);
      if (heapMiB === null) {
        expect(bytes).toBeLessThanOrEqual(before);
        before = bytes;
      }
    }
  }
});
