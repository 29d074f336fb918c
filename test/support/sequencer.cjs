/**
 * The order of test files: the slowest first, by the seconds in test/slow.json, so that none of them runs alone at the end.
 * On a fresh machine Jest knows no durations and would order files by their size.
 */
'use strict';

const path = require('node:path');
const seconds = require('../slow.json');

const ofJest = require.resolve('@jest/test-sequencer', {
  paths: [require.resolve('jest-cli', { paths: [require.resolve('jest')] })],
});
const { default: Sequencer } = require(ofJest);

const root = path.resolve(__dirname, '../..');
const secondsOf = ({ path: file }) => seconds[path.relative(root, file)] ?? 0;

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => secondsOf(b) - secondsOf(a));
  }
};
