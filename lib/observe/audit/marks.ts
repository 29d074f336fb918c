/** The names of marks that the library itself leaves in a recording. */

/**
 * The begin and the end of a heap snapshot for `leak-audit why`. What V8 needs for it stays with the process: the growth of the
 * process is not judged across these marks.
 */
export const SNAPSHOT_BEGINS = 'heap snapshot begins';
export const SNAPSHOT_ENDS = 'heap snapshot ends';
