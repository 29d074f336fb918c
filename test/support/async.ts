/** What tests of promises ask again and again. */

export const ms = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

/** What a promise rejects with, as a coded error. Fails when it does not. */
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

/** Waits until something is so, however slow the machine is. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await ms(1);
}
