/** The processors that the package is made for: what Debian and the tools call them. */
export const targets = {
  x64: { debian: 'amd64', triple: 'x86_64-linux-gnu', tools: '', loader: 'ld-linux-x86-64.so.2' },
  arm64: {
    ...{ debian: 'arm64', triple: 'aarch64-linux-gnu', tools: 'aarch64-linux-gnu-' },
    loader: 'ld-linux-aarch64.so.1',
  },
};

/** The releases of Debian for whose libtorch bindings are made, and the package with its libraries. */
export const systems = {
  bookworm: { libtorch: 'libtorch1.13' },
  trixie: { libtorch: 'libtorch2.6' },
  forky: { libtorch: 'libtorch2.14' },
};
