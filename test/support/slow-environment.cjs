/** Jest's environment for programs that run many times slower (npm run test:asan): ten times each test's own limit. */
'use strict';

const { TestEnvironment } = require('jest-environment-node');

module.exports = class extends TestEnvironment {
  handleTestEvent(event) {
    const timed = event.name === 'test_start' ? event.test : event.name === 'hook_start' ? event.hook : undefined;
    if (timed?.timeout) timed.timeout *= 10;
  }
};
