/**
 * A registry on the loopback interface that has the packages of some tarballs, as if they were published, and sends clients
 * to the usual registry for all others.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { StepError } from '../steps/errors.mjs';

function manifestOf(tarball) {
  const { status, stdout, stderr } = spawnSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
  if (status !== 0) throw new StepError(`${tarball} is not a tarball of npm: ${stderr.trim()}`);
  return JSON.parse(stdout);
}

/** @param {string} tarball @returns {{ name: string, bytes: Buffer, metadata: (base: string) => object }} */
function published(tarball) {
  const bytes = readFileSync(tarball);
  const manifest = manifestOf(tarball);
  const digest = (algorithm, encoding) => createHash(algorithm).update(bytes).digest(encoding);
  const sums = { integrity: `sha512-${digest('sha512', 'base64')}`, shasum: digest('sha1', 'hex') };
  const { name, version } = manifest;
  const metadata = (base) => {
    const dist = { ...sums, tarball: `${base}/${name}/-/${version}.tgz` };
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
  };
  return { name, path: `/${name}/-/${version}.tgz`, bytes, metadata };
}

/**
 * @param {string[]} tarballs
 * @param {string} upstream the registry of all other packages
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serveRegistry(tarballs, upstream) {
  const packages = tarballs.map(published);
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url, 'http://localhost');
    const wanted = decodeURIComponent(pathname);
    const file = packages.find(({ path }) => path === wanted);
    if (file !== undefined) return response.end(file.bytes);
    const found = packages.find(({ name }) => `/${name}` === wanted);
    if (found !== undefined) {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify(found.metadata(`http://${request.headers.host}`)));
    }
    response.writeHead(302, { location: `${upstream.replace(/\/$/, '')}${pathname}${search}` }).end();
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => server.closeAllConnections() ?? server.close(resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}
