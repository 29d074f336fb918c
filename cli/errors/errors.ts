/** An error of the user: printed as one line on stderr, with exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Invalid data from a file or a peer: `where: expected …, got …`. */
export class InvalidData extends UsageError {
  override name = 'InvalidData';
}

/** Exit statuses of the commands. */
export const ExitCode = { clean: 0, leak: 1, usage: 2, insufficient: 3, lostEvents: 4, internal: 70 } as const;
