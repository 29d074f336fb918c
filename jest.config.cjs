'use strict';

/**
 * Tests import the built package by its name; types are checked by `npm run typecheck`, not here.
 * @type {import('jest').Config}
 */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 60_000,
  modulePathIgnorePatterns: ['<rootDir>/build/'],
  moduleNameMapper: {
    '^libtorch-node$': '<rootDir>/dist/lib/index.js',
    '^libtorch-node/jest$': '<rootDir>/dist/lib/jest.js',
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
