/** Jest's environment where things take longer (LTN_TIME_FACTOR of jest.config.cjs): so many times each test's own limit. */
'use strict';

const { TestEnvironment } = require('jest-environment-node');

const factor = Number(process.env.LTN_TIME_FACTOR);

module.exports = class extends TestEnvironment {
  handleTestEvent(event) {
    const timed = event.name === 'test_start' ? event.test : event.name === 'hook_start' ? event.hook : undefined;
    if (timed?.timeout) timed.timeout *= factor;
  }
};
