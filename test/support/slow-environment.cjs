/** Jest's environment on slow machines: multiplies each test's own limit by LTN_TIME_FACTOR (jest.config.cjs). */
'use strict';

const { TestEnvironment } = require('jest-environment-node');

const factor = Number(process.env.LTN_TIME_FACTOR);

module.exports = class extends TestEnvironment {
  handleTestEvent(event) {
    const timed = event.name === 'test_start' ? event.test : event.name === 'hook_start' ? event.hook : undefined;
    if (timed?.timeout) timed.timeout *= factor;
  }
};
