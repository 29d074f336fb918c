/** The sizes of the measurements. */

/**
 * @typedef {object} Plan
 * @property {string} detail
 * @property {number} rounds of ops, scopes and audit: many short ones, since ratios are taken within a round
 * @property {number} ms of one op in one round
 * @property {number} digitsRounds
 * @property {{ full: number, mini: number }} digitsSteps in one round
 * @property {number} loads how often the library is loaded
 * @property {number} compiles how often the compiler runs on each program
 * @property {number} memoryRounds
 * @property {Record<'zeros' | 'add' | 'add-scope' | 'scoped', number>} loops how often each loop of the memory section runs
 * @property {number} steps training steps without a scope
 * @property {number} asyncRounds
 * @property {number} products of matrices, off the event loop
 * @property {number} smallOps
 * @property {number} auditRounds
 * @property {number} audited allocations in one round of the audit's loop
 * @property {number} auditWarmMs of the adaptive sampler, whose credit for the beginning is spent in 10 s
 * @property {number} profiled live tensors
 * @property {number} profileRounds
 * @property {number} httpRounds
 * @property {{ closed: number, paced: number }} httpMs of one mode in one round
 * @property {number} reportRounds
 * @property {number} events in each of the captures
 * @property {number} dataRounds
 * @property {number} pictures
 * @property {number} fileBytes of a state dict that is saved and loaded
 * @property {number} fileRounds
 * @property {number} delaySteps of a training beside which the event loop is watched
 * @property {number} [rows] of a data set in memory
 * @property {number} [resumed] samples of a data set that is continued
 */

/** @type {Record<'full' | 'quick' | 'tiny', Plan>} */
export const plans = {
  full: {
    detail: 'full run',
    rounds: 21,
    ms: 100,
    digitsRounds: 11,
    digitsSteps: { full: 5, mini: 130 },
    loads: 10,
    compiles: 7,
    memoryRounds: 9,
    loops: { zeros: 4000, scoped: 10_000_000, add: 1_000_000, 'add-scope': 1_000_000 },
    steps: 1_000_000,
    asyncRounds: 5,
    products: 120,
    smallOps: 5000,
    auditRounds: 7,
    audited: 200_000,
    auditWarmMs: 12_000,
    profiled: 100_000,
    profileRounds: 21,
    httpRounds: 7,
    httpMs: { closed: 2000, paced: 10_000 },
    reportRounds: 3,
    events: 10_000_000,
    dataRounds: 5,
    pictures: 2000,
    fileBytes: 1e9,
    fileRounds: 7,
    delaySteps: 300,
  },
  quick: {
    detail: 'quick run',
    rounds: 9,
    ms: 40,
    digitsRounds: 5,
    digitsSteps: { full: 3, mini: 60 },
    loads: 3,
    compiles: 3,
    memoryRounds: 1,
    loops: { zeros: 4000, scoped: 1_000_000, add: 200_000, 'add-scope': 200_000 },
    steps: 50_000,
    asyncRounds: 3,
    products: 60,
    smallOps: 2000,
    auditRounds: 5,
    audited: 30_000,
    auditWarmMs: 12_000,
    profiled: 100_000,
    profileRounds: 9,
    httpRounds: 5,
    httpMs: { closed: 1000, paced: 3000 },
    reportRounds: 1,
    events: 10_000_000,
    dataRounds: 3,
    pictures: 600,
    fileBytes: 1e9,
    fileRounds: 3,
    delaySteps: 100,
  },
  /** Shows that the benchmarks run; its figures are meaningless. */
  tiny: {
    detail: 'trial run, meaningless figures',
    rounds: 2,
    ms: 1,
    digitsRounds: 1,
    digitsSteps: { full: 1, mini: 2 },
    loads: 1,
    compiles: 1,
    memoryRounds: 1,
    loops: { zeros: 20, scoped: 1000, add: 1000, 'add-scope': 1000 },
    steps: 100,
    asyncRounds: 1,
    products: 3,
    smallOps: 20,
    auditRounds: 1,
    audited: 1000,
    auditWarmMs: 10,
    profiled: 1000,
    profileRounds: 2,
    httpRounds: 1,
    httpMs: { closed: 50, paced: 50 },
    reportRounds: 1,
    events: 4000,
    dataRounds: 1,
    pictures: 8,
    fileBytes: 1e6,
    fileRounds: 1,
    delaySteps: 6,
    rows: 640,
    resumed: 6400,
  },
};
