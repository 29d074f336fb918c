/** Debian's mirror and the proxy from the settings of this machine's apt; they are not written into the checkout. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StepError } from '../steps/errors.mjs';

/**
 * @typedef {object} Source
 * @property {string} uri
 * @property {string} suite
 * @property {string[]} components
 * @property {string | undefined} keyring a file that apt was told to check signatures with
 */

/** The fields of each paragraph of a deb822 file, their names in lower case. */
function paragraphs(text) {
  const fieldsOf = (paragraph) => {
    const fields = {};
    let last;
    for (const line of paragraph.split('\n').filter((line) => !line.startsWith('#'))) {
      const start = line.match(/^([^\s:]+):\s*(.*)$/);
      if (start) last = start[1].toLowerCase();
      if (last !== undefined) fields[last] = `${fields[last] ?? ''} ${start ? start[2] : line}`.trim();
    }
    return fields;
  };
  return text.split(/\n\s*\n/).map(fieldsOf);
}

const words = (text) => (text ?? '').split(/\s+/).filter(Boolean);
const asKeyring = (text) => (text?.startsWith('/') ? text : undefined);

/** @param {string} text of a *.sources file @returns {Source[]} */
export function parseSources(text) {
  return paragraphs(text)
    .filter((fields) => words(fields.types).includes('deb') && fields.enabled !== 'no')
    .flatMap((fields) =>
      words(fields.uris).flatMap((uri) =>
        words(fields.suites).map((suite) => ({
          uri,
          suite,
          components: words(fields.components),
          keyring: asKeyring(fields['signed-by']),
        })),
      ),
    );
}

/** @param {string} text of a sources.list @returns {Source[]} */
export function parseList(text) {
  const lines = [...text.matchAll(/^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)[ \t]*(.*)$/gm)];
  return lines.map(([, options, uri, suite, components]) => ({
    uri,
    suite,
    components: words(components.replace(/#.*/, '')),
    keyring: asKeyring(options?.match(/signed-by=(\S+)/)?.[1]),
  }));
}

function aptSources(folder) {
  const inFolder = path.join(folder, 'sources.list.d');
  const names = existsSync(inFolder) ? readdirSync(inFolder).sort() : [];
  const files = [path.join(folder, 'sources.list'), ...names.map((name) => path.join(inFolder, name))];
  return files.filter(existsSync).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    if (file.endsWith('.sources')) return parseSources(text);
    return file.endsWith('.list') ? parseList(text) : [];
  });
}

const codename = (release) =>
  existsSync(release) ? readFileSync(release, 'utf8').match(/^VERSION_CODENAME=(\S+)$/m)?.[1] : undefined;

/**
 * The mirror that serves this machine's own release: apt's other lines are updates and third-party packages.
 * @param {{ env?: NodeJS.ProcessEnv, apt?: string, release?: string }} [places]
 * @returns {{ uri: string, keyring: string | undefined }}
 */
export function findMirror({ env = process.env, apt = '/etc/apt', release = '/etc/os-release' } = {}) {
  if (env.LIBTORCH_NODE_MIRROR) return { uri: env.LIBTORCH_NODE_MIRROR, keyring: undefined };
  const own = [codename(release), 'stable', 'testing', 'unstable', 'sid'];
  const found = aptSources(apt).find(({ uri, suite, components }) => {
    return /^(https?|file|ftp):/.test(uri) && own.includes(suite) && components.includes('main');
  });
  if (found) return { uri: found.uri, keyring: found.keyring };
  throw new StepError(
    `No Debian mirror was found in ${apt}: expected a source of ${own[0] ?? 'this release'} with the component main.\n` +
      'Set LIBTORCH_NODE_MIRROR to one, such as the URI in the sources of a Debian machine.',
  );
}

/** Proxies for debootstrap's wget and the root's apt, from the environment, else from apt's settings. */
export function proxyEnv(env = process.env) {
  const result = {};
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) {
    const value = env[name] ?? env[name.toUpperCase()];
    if (value) result[name] = value;
  }
  const { stdout } = spawnSync('apt-config', ['dump', '--format', '%f %v%n'], { encoding: 'utf8' });
  for (const scheme of ['http', 'https']) {
    const own = stdout?.match(new RegExp(`^Acquire::${scheme}::Proxy (\\S+)$`, 'mi'))?.[1];
    if (own && own !== 'DIRECT') result[`${scheme}_proxy`] ??= own;
  }
  return result;
}
