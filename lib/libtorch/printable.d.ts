/** One line that does nothing to a terminal. */
export function printable(text: string): string;
