/** Answers from the socket of a process: each field is checked before use. */
import { detachedOf, recordingOf, snapshotOf } from '../../cli/attach/answers';
import { UsageError } from '../../cli/errors/errors';

const figures = { tensors: 1, storages: 1, bytes: 8, allocatedBytes: 8, peakAllocatedBytes: 8 };
const site = {
  stack: [{ file: '/a.js', line: 1, column: 2, function: 'f' }],
  ...{ device: [1, 0], liveTensors: 1, liveBytes: 8, allocatedTensors: 1, allocatedBytes: 8 },
};
const whole = {
  ...{ ok: true, pid: 7, rss: 1, ...figures, devices: [{ device: 'cpu', ...figures }], sites: [site] },
  ...{ made: { tensors: 1, bytes: 8 }, ms: 10, mode: 'full' },
};

test('valid answers of a process are accepted', () => {
  expect(snapshotOf(whole)).toMatchObject({ pid: 7, ms: 10, sites: [{ device: 'cuda:0', liveBytes: 8 }] });
  expect(snapshotOf({ ...whole, sites: null, ms: undefined, mode: undefined, made: undefined })).toMatchObject({
    ...{ sites: null, ms: null, mode: null, made: null },
  });
  expect(recordingOf({ recording: null })).toBeNull();
  expect(recordingOf({ recording: { by: 'run' } })).toEqual({ by: 'run' });
  expect(detachedOf({ file: '/x', ms: 5 })).toEqual({ file: '/x', ms: 5 });
});

const WRONG = ['x', -1, Number.NaN, Number.POSITIVE_INFINITY, {}, [], true];
const refused = (make: () => unknown) => {
  try {
    make();
    return false;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return true;
  }
};

test('fields of a wrong type are refused in one line, or used; nothing else happens', () => {
  for (const value of WRONG) {
    const told: string[] = [];
    for (const name of Object.keys(whole)) if (refused(() => snapshotOf({ ...whole, [name]: value }))) told.push(name);
    for (const name of Object.keys(site))
      if (refused(() => snapshotOf({ ...whole, sites: [{ ...site, [name]: value }] }))) told.push(`sites.${name}`);
    for (const name of Object.keys(site.stack[0]!))
      if (refused(() => snapshotOf({ ...whole, sites: [{ ...site, stack: [{ ...site.stack[0], [name]: value }] }] })))
        told.push(`stack.${name}`);
    for (const name of Object.keys(figures))
      if (refused(() => snapshotOf({ ...whole, devices: [{ ...whole.devices[0], [name]: value }] }))) told.push(name);
    expect(told).toEqual(expect.arrayContaining(['rss', 'bytes', 'ms', 'made', 'sites.liveBytes', 'stack.line']));
  }
  expect(() => snapshotOf({ ...whole, sites: [{ ...site, stack: 'deep' }] })).toThrow(
    'sites[0].stack: expected a list, got "deep"',
  );
  expect(() => snapshotOf({ ...whole, sites: new Array(5000).fill(site) })).toThrow('sites: expected at most 1000');
  expect(refused(() => recordingOf({ recording: { file: 7 } }))).toBe(true);
  expect(refused(() => detachedOf({ file: null }))).toBe(true);
});
