/** libtorch is missing or unusable. The message says what was searched for, where, and how to fix it. */
export class LibtorchError extends Error {
  code: 'ERR_LIBTORCH_MISSING';
}
