/** torch.setPrintOptions. */

import { native } from '../addon/native';
import { isOptions, unknownOption } from '../addon/options';
import { argumentError } from '../errors/errors';
import { MAX_DIGITS } from './numbers';

export interface PrintOptions {
  /** Digits after the point (default 4, at most 50). */
  precision: number;
  /** More elements than this are summarised (default 1000). */
  threshold: number;
  /** Elements at each end of a summarised dimension (default 3). */
  edgeitems: number;
  /** Characters per line (default 80). */
  linewidth: number;
  /** Scientific notation: always, never, or by the values (null). */
  sciMode: boolean | null;
}

/** The options, and a profile to start from: 'default', 'short' or 'full' (which summarises nothing). */
export interface PrintChanges extends Partial<PrintOptions> {
  profile?: 'default' | 'short' | 'full';
}

const profiles: Record<string, Omit<PrintOptions, 'sciMode'>> = {
  default: { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 },
  short: { precision: 2, threshold: 1000, edgeitems: 2, linewidth: 80 },
  full: { precision: 4, threshold: Number.POSITIVE_INFINITY, edgeitems: 3, linewidth: 80 },
};

/**
 * Whether columns are as wide as what `sciMode` writes. Up to PyTorch 2.6 they are as wide as what would be written
 * without it.
 */
const [major = 0, minor = 0] = native.version().split('.').map(Number);
export const widthFollowsSciMode = major > 2 || (major === 2 && minor > 6);

let options: PrintOptions = { ...profiles.default!, sciMode: null };

/** The current options. */
export const printOptions = (): Readonly<PrintOptions> => options;

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

/** The check of each option, and its text for errors. */
const rules: Record<keyof PrintChanges, readonly [ok: (value: unknown) => boolean, expected: string]> = {
  precision: [(value) => isCount(value) && (value as number) <= MAX_DIGITS, `an integer from 0 to ${MAX_DIGITS}`],
  threshold: [(value) => isCount(value) || value === Number.POSITIVE_INFINITY, 'an integer of 0 or more, or Infinity'],
  edgeitems: [isCount, 'an integer of 0 or more'],
  linewidth: [isCount, 'an integer of 0 or more'],
  sciMode: [(value) => value === null || typeof value === 'boolean', 'a boolean or null'],
  profile: [
    (value) => typeof value === 'string' && Object.hasOwn(profiles, value),
    `one of ${Object.keys(profiles).join(', ')}`,
  ],
};

/**
 * Changes how tensors print in this thread. Omitted options stay unchanged, except that `sciMode` is reset to null, as in
 * PyTorch.
 */
export function setPrintOptions(changes: PrintChanges): void {
  if (!isOptions(changes)) throw argumentError('setPrintOptions', 'changes', 'an object of options', changes);
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!Object.hasOwn(rules, name)) throw unknownOption('setPrintOptions', 'changes', name, Object.keys(rules));
    const [ok, expected] = rules[name as keyof PrintChanges];
    if (!ok(value)) throw argumentError('setPrintOptions', name, expected, value);
  }
  const { profile, ...rest } = Object.fromEntries(given) as PrintChanges;
  options = { ...options, ...(profile === undefined ? {} : profiles[profile]), sciMode: null, ...rest };
}
