/** The paths of the files that this process has mapped, such as its libraries; null where the system does not list them. */
export function mappedFiles(): readonly string[] | null;
