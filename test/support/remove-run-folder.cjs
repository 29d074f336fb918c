/** Jest's global tear-down: removes the folder of test/support/run-folder.cjs. */
'use strict';

const fs = require('node:fs');

module.exports = async () => fs.rmSync(process.env.LTN_RUN_FOLDER, { recursive: true, force: true });
