/** How much is measured. */

/**
 * @typedef {object} Plan
 * @property {string} detail
 * @property {number} rounds of ops and audit
 * @property {number} ms of one op in one round
 * @property {number} loads how often the library is loaded
 * @property {number} zeros of 1 MiB
 * @property {number} adds of one element
 * @property {number} audited allocations in one round of the audit's loop
 */

/** @type {Record<'full' | 'quick' | 'tiny', Plan>} */
export const plans = {
  full: { detail: 'full run', rounds: 7, ms: 300, loads: 10, zeros: 4000, adds: 1_000_000, audited: 200_000 },
  quick: { detail: 'quick run', rounds: 5, ms: 50, loads: 3, zeros: 1000, adds: 200_000, audited: 30_000 },
  /** Shows that it runs; its figures mean nothing. */
  tiny: {
    detail: 'trial run, figures without meaning',
    rounds: 2,
    ms: 1,
    loads: 1,
    zeros: 20,
    adds: 1000,
    audited: 1000,
  },
};
