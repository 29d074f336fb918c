/** Names of functions and files, for text that goes to a terminal. What looks for libtorch needs it before anything is built. */
export { printable } from './libtorch/printable';
