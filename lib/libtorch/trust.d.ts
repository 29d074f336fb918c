/** `real`: the examined path, without links. `problem`: why other users could change its contents, or null. */
export function examineFolder(folder: string, below?: string[]): { real: string; problem: string | null };
/** Creates the folder, private to this user, if it is missing. Callers must use only `real`, the examined path. */
export function makeFolder(folder: string, below?: string[]): { real: string; problem: string | null };
/** Why a file in a folder is not trusted, or null. */
export function treeProblem(folder: string): string | null;
