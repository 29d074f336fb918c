/**
 * `Symbol.dispose` and `Symbol.asyncDispose` where they are missing: Node 20 defines them in the main context only, and Vitest's
 * `vmThreads` and Jest's environments are other contexts. Imported first by the entry files, before a class has such a method.
 */
for (const name of ['dispose', 'asyncDispose'] as const) {
  // The symbol that esbuild's `using` falls back to.
  if (Symbol[name] === undefined) Object.defineProperty(Symbol, name, { value: Symbol.for(`Symbol.${name}`) });
}
