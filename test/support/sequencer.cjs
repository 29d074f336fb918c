/**
 * The order of test files: the slowest first, by the seconds in test/slow.json, so that none of them runs alone at the end.
 * On a fresh machine Jest knows no durations and would order files by their size.
 *
 * Before them, those that take a snapshot of their worker's heap, which grows with each file: test/leaks/held.test.ts takes
 * 15 s at first and 190 s at the end.
 */
'use strict';

const path = require('node:path');
const seconds = require('../slow.json');

const ofJest = require.resolve('@jest/test-sequencer', {
  paths: [require.resolve('jest-cli', { paths: [require.resolve('jest')] })],
});
const { default: Sequencer } = require(ofJest);

const ofFreshWorkers = ['test/leaks/held.test.ts'];
const FIRST = Number.MAX_SAFE_INTEGER;

const root = path.resolve(__dirname, '../..');
function secondsOf({ path: file }) {
  const name = path.relative(root, file);
  return ofFreshWorkers.includes(name) ? FIRST : (seconds[name] ?? 0);
}

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => secondsOf(b) - secondsOf(a));
  }
};
