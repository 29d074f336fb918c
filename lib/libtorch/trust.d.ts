/** The path without links that was examined, and why others could change what is there; null where they cannot. */
export function examineFolder(folder: string, below?: string[]): { real: string; problem: string | null };
/** Makes a folder for this user alone where it is missing. Only `real`, the path that was examined, is to be used. */
export function makeFolder(folder: string, below?: string[]): { real: string; problem: string | null };
/** Why something in a folder is not trusted, or null. */
export function treeProblem(folder: string): string | null;
