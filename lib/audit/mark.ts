/** `torch.audit.mark`: named points in time. */
import { argumentError } from '../errors';
import { native } from '../native';

/** Longer names are cut. */
const MAX_CHARACTERS = 200;

/**
 * Puts a mark into the capture of `leak-audit`, for example at a deployment or a phase of the program: reports list it,
 * and draw it into the timeline. Does nothing while no audit runs. Up to 10,000 marks of a capture are kept.
 */
export function mark(name: string): void {
  if (typeof name !== 'string' || name === '')
    throw argumentError('audit.mark', 'name', 'a string that says something', name);
  if (native.auditOn() > 0) native.auditMark(name.slice(0, MAX_CHARACTERS));
}
