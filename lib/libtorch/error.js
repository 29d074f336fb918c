'use strict';

/** libtorch is not there, or not usable. The message says what was looked for, where, and what to do. */
class LibtorchError extends Error {
  code = 'ERR_LIBTORCH_MISSING';
}

module.exports = { LibtorchError };
