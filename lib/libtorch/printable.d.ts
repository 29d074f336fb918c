/** One line without terminal control characters. */
export function printable(text: string): string;
