/** The package's types for `import`: the same names, and the module itself as the default export. */
export * from './index.js';
export * as default from './index.js';
