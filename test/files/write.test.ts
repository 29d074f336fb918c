/** Files that are written whole: also those that Node does not write at once. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { LIB } from '../support/torch';

test('more than 2 GiB go in pieces that Node takes', () => {
  const { writeWhole } = require(path.join(LIB, 'files/write.js'));
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-write-'));
  const pieces: [number, number][] = [];
  // Pages that nobody touches are no memory, and nothing is written.
  const large = new Uint8Array(2 ** 31 + 5);
  const spy = jest.spyOn(require('node:fs'), 'writeSync').mockImplementation(((
    _: number,
    __: Uint8Array,
    at: number,
    length: number,
  ) => {
    pieces.push([at, length]);
    return length;
  }) as never);
  try {
    writeWhole(path.join(folder, 'large'), (put: (bytes: Uint8Array) => void) => put(large));
  } finally {
    spy.mockRestore();
    fs.rmSync(folder, { recursive: true });
  }
  expect(pieces).toEqual([
    [0, 2 ** 30],
    [2 ** 30, 2 ** 30],
    [2 ** 31, 5],
  ]);
});
