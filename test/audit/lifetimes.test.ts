/** Lifetimes of dead tensors: counts and bytes stay exact while times become coarser, and too many places are told. */

import { Lifetimes } from '../../cli/capture/lifetimes';
import type { Birth } from '../../cli/capture/live-tensors';

const birth = (id: number, birthMs: number, siteId = 1) =>
  ({ id, storage: id, isView: false, bytes: 10, weight: 1, birthMs, siteId, deviceType: 0, deviceIndex: 0 }) as Birth;

const all = (lifetimes: Lifetimes) => [...lifetimes];

test('coarser times keep every tensor and byte, and are off by less than one step', () => {
  const lifetimes = new Lifetimes();
  const count = 140_000;
  for (let i = 0; i < count; i++) {
    lifetimes.born(birth(i, i));
    lifetimes.died(birth(i, i), i + 8);
  }
  const its = all(lifetimes);
  expect(its.length).toBeLessThanOrEqual(2 ** 17);
  expect(its.reduce((sum, { tensors }) => sum + tensors, 0)).toBe(count);
  expect(its.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(count * 10);
  // At 2 ** 17 counts, times of 2 ms leave one more than half of them.
  const step = 4;
  expect(its.every(({ bornMs, diedMs }) => bornMs % step === 0 && diedMs % step === 0)).toBe(true);
  const until = (ms: number) => its.filter(({ bornMs }) => bornMs <= ms).reduce((sum, { tensors }) => sum + tensors, 0);
  for (const ms of [1000, 100_000, 139_996]) expect(until(ms)).toBe(ms + 1);
  expect(lifetimes.isFull).toBe(false);
});

test('places of which there are too many have no lifetimes', () => {
  const lifetimes = new Lifetimes();
  for (let i = 0; i < 2 ** 17 + 1; i++) lifetimes.died(birth(i, i, i), i + 7);
  expect(lifetimes.isFull).toBe(true);
  expect(all(lifetimes)).toEqual([]);
});
