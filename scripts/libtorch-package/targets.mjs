/** The processors that the package is made for: what Debian and the tools call them. */
export const targets = {
  x64: { debian: 'amd64', triple: 'x86_64-linux-gnu', tools: '', loader: 'ld-linux-x86-64.so.2' },
  arm64: {
    ...{ debian: 'arm64', triple: 'aarch64-linux-gnu', tools: 'aarch64-linux-gnu-' },
    loader: 'ld-linux-aarch64.so.1',
  },
};

/**
 * The releases of Debian for whose libtorch bindings are made, the package with its libraries, and those with other headers that
 * its own include.
 */
export const systems = {
  bookworm: { libtorch: 'libtorch1.13', headers: ['libgflags-dev', 'libgoogle-glog-dev'] },
  trixie: { libtorch: 'libtorch2.6', headers: [] },
  forky: { libtorch: 'libtorch2.14', headers: [] },
};
