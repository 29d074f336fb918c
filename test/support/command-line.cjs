'use strict';

const { parseArgs } = require('node:util');

/** Prints what is wrong and the usage to stderr, and ends with status 2. */
function wrongUse(message, usage) {
  console.error(`${message}\n${usage}`);
  process.exit(2);
}

/**
 * The options of a program of the tests, by node:util's parseArgs. With --help it prints the usage and ends with status 0; with an
 * option that does not exist it prints the error and the usage to stderr and ends with status 2.
 */
function commandLine(usage, options) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h', default: false } } });
    if (!values.help) return values;
  } catch (error) {
    wrongUse(error.message, usage);
  }
  console.log(usage);
  return process.exit(0);
}

module.exports = { commandLine, wrongUse };
