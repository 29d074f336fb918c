/** The package's types for `import`: the same names, and the module as the default export, types (`torch.Tensor`) with it. */
export * from './index.js';
export * as default from './index.js';
