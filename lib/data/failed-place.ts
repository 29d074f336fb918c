/** Which sample of a batch an error is of, where the dataset reads a whole batch at once. */

const places = new WeakMap<object, number>();

/** Notes the place of the sample in its batch. */
export function noteFailedPlace(error: unknown, place: number): void {
  if (typeof error === 'object' && error !== null) places.set(error, place);
}

/** The place that was noted, or 0. */
export const failedPlace = (error: unknown): number =>
  (typeof error === 'object' && error !== null ? places.get(error) : undefined) ?? 0;
