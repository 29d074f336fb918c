/** `torch.audit.mark`: named points in time. */

import { native } from '../../addon/native';
import { argumentError } from '../../errors/errors';

/** Longer names are truncated. */
const MAX_CHARACTERS = 200;

/**
 * Adds a mark to the capture of `leak-audit`, for example at a deployment or a phase of the program. Reports list it and show
 * it in the timeline. Does nothing while no audit runs. A capture keeps up to 10,000 marks.
 */
export function mark(name: string): void {
  if (typeof name !== 'string' || name === '') throw argumentError('audit.mark', 'name', 'a non-empty string', name);
  if (native.auditDepth() > 0) native.auditMark(name.slice(0, MAX_CHARACTERS));
}
