/** Errors of the user and of the machine: one line on stderr, and the exit status of their kind. */

/** 0: the project was made; 1: it could not be made; 2: wrong use; 128 and the signal's number: interrupted. */
export const ExitCode = { made: 0, failed: 1, usage: 2, interrupted: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } };

/** The command or its folder is not as expected: nothing was made. */
export class UsageError extends Error {
  name = 'UsageError';
}

/** A step failed, such as `npm install`: nothing was made. */
export class FailedError extends Error {
  name = 'FailedError';
}

/** The user pressed Ctrl-C, or the process was asked to end. */
export class Interrupted extends Error {
  name = 'Interrupted';
  /** @param {'SIGHUP' | 'SIGINT' | 'SIGTERM'} signal */
  constructor(signal) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }
}

/** Text from outside (names, messages) without control characters, which could change what the terminal shows. */
export const printable = (text) =>
  String(text).replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
