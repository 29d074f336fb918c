/**
 * Jest's global set-up: a folder for one run of Jest, in which test files share what is expensive to make
 * (test/support/once.ts). The workers inherit the variables.
 */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

module.exports = async () => {
  process.env.LTN_RUN_FOLDER = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-run-'));
  process.env.LTN_JEST_PID = String(process.pid);
};
