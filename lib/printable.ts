/** Names of functions and files, for text that goes to a terminal. The search for libtorch needs it before anything is built. */
export { printable } from './libtorch/printable';
