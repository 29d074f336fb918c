/** The user asked for something impossible: one line on stderr, exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** What a file or a peer says cannot be: `where: expected …, got …`. */
export class InvalidData extends UsageError {
  override name = 'InvalidData';
}

/** What an exit status of ours means. */
export const ExitCode = { clean: 0, leak: 1, usage: 2, insufficient: 3, lostEvents: 4, internal: 70 } as const;
