/** Text that the library itself prints in a service or a test: names of functions and files must not control a terminal. */

import { printable as ofCommands } from '../../cli/terminal/printable';
import { printable } from '../../lib/libtorch/printable';
import { frameText, stackText } from '../../lib/observe/audit/positions';
import type { TensorLeaks } from '../../lib/testing/measure';
import { leaksText } from '../../lib/testing/text';

const HOSTILE = 'a\x1b]0;owned\x07\x9b2J\r\x08\x7f\u202eb\u2066\u200b\u2028';
const RAW = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
const frame = { file: `/srv/${HOSTILE}\nCLEAN.js`, line: 1, column: 2, function: HOSTILE };

test('stacks of TensorLogger and of torch.allocations', () => {
  expect(frameText(frame)).not.toMatch(RAW);
  expect(stackText([frame, { ...frame, function: '' }])).not.toMatch(RAW);
  expect(stackText([frame]).split('\n')).toHaveLength(1);
  expect(frameText({ file: '/srv/é 日本.js', line: 1, column: 2, function: 'f' })).toBe('f (/srv/é 日本.js:1:2)');
});

test('messages of the leak matchers', () => {
  const site = { ...frame, stack: '', tensors: 2, bytes: 8, inScopes: 0, example: 'float32[1]' };
  const leaks: TensorLeaks = {
    ...{ leaks: true, iterations: 20, rounds: 8, tensors: 2, bytes: 8, nodes: 0, hiddenBytes: 0 },
    ...{ awaitingCollection: { tensors: 0, bytes: 0 }, sites: [site] },
  };
  expect(leaksText(leaks)).not.toMatch(RAW);
  expect(leaksText(leaks)).not.toMatch(/^CLEAN/m);
});

test('the library and the commands escape alike', () => {
  expect(printable(HOSTILE)).toBe(ofCommands(HOSTILE));
});
