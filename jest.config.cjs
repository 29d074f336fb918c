'use strict';

/**
 * What each test's time limit is multiplied by. A limit is there to end what hangs, not what is slow: a machine of CI has
 * many times less time for us than it seems, and the sanitizers (scripts/asan.mjs) take many times more. Inherited by
 * Jest's workers and the programs that tests start.
 */
process.env.LTN_TIME_FACTOR ||= process.env.CI && process.env.CI !== 'false' ? '4' : '1';
const factor = Number(process.env.LTN_TIME_FACTOR);

// Once a week npm tells of its own new releases, in what a test's program prints. Inherited likewise.
process.env.npm_config_update_notifier = 'false';

/**
 * Tests import the built package by its name; types are checked by `npm run typecheck`, not here.
 * @type {import('jest').Config}
 */
module.exports = {
  testEnvironment: factor === 1 ? 'node' : '<rootDir>/test/support/slow-environment.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/run-folder.cjs',
  globalTeardown: '<rootDir>/test/support/remove-run-folder.cjs',
  testSequencer: '<rootDir>/test/support/sequencer.cjs',
  testTimeout: 60_000 * factor,
  // A worker's heap grows with each file it ran, and with it the time of every collection that tests ask for.
  workerIdleMemoryLimit: '250MB',
  modulePathIgnorePatterns: ['<rootDir>/build/'],
  moduleNameMapper: {
    '^libtorch-node$': '<rootDir>/dist/lib/index.js',
    '^libtorch-node/jest$': '<rootDir>/dist/lib/testing/jest.js',
    '^libtorch-node/(metrics|pprof|testing)$': '<rootDir>/dist/lib/$1/index.js',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022', keepClassNames: true },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
};
