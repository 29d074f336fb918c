/** Common helpers for tests of promises. */

export const ms = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

/** The error with code that a promise rejects with. Fails if it does not reject. */
export async function failure(
  promise: Promise<unknown>,
): Promise<Error & { code: string; op?: string; argument?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as never;
  }
  throw new Error('expected a rejection');
}

/** Waits until a condition holds, however slow the machine is. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await ms(1);
}
