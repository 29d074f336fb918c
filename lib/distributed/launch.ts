/** Which rank this process is, and where the ranks meet: from the variables that launchers set. */
import { argumentError } from '../errors/errors';
import { RANK_VARIABLES, SIZE_VARIABLES } from '../observe/rank';
import { distributedError } from './library';

/** Where the ranks meet. */
export type Meeting =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly rank: number; readonly size: number }
  | { readonly kind: 'file'; readonly path: string; readonly rank: number; readonly size: number };

const FN = 'distributed.initProcessGroup';

type Environment = Readonly<Record<string, string | undefined>>;

function integerIn(env: Environment, names: readonly string[], what: string, least: number, most: number): number {
  const name = names.find((each) => env[each] !== undefined && env[each] !== '');
  if (name === undefined) {
    throw distributedError(
      FN,
      `${what} is not known: expected the environment variable ${names.join(' or ')}, or the option. A launcher such as torchrun sets it (docs/distributed.md)`,
    );
  }
  const text = env[name]!.trim();
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) {
    throw distributedError(
      FN,
      `the environment variable ${name}: expected an integer from ${least} to ${most}, got '${text}'`,
    );
  }
  return number;
}

/** The first host of Slurm's list: 'node[03-07,9],other' is node03. */
export function firstSlurmHost(list: string): string {
  const found = /^([^,[]+)(?:\[(\d+)[^\]]*\]([^,[]*))?/.exec(list.trim());
  return found === null ? list : `${found[1]}${found[2] ?? ''}${found[3] ?? ''}`;
}

function masterHost(env: Environment): string {
  if (env.MASTER_ADDR) return env.MASTER_ADDR;
  const nodes = env.SLURM_STEP_NODELIST ?? env.SLURM_JOB_NODELIST;
  if (nodes) return firstSlurmHost(nodes);
  throw distributedError(
    FN,
    'the address of rank 0 is not known: expected the environment variable MASTER_ADDR. A launcher such as torchrun sets it (docs/distributed.md)',
  );
}

const MOST = 2 ** 31 - 1;

/** `rank` and `worldSize` of the options, then of the URL, then of the environment. */
function place(env: Environment | null, url: URLSearchParams, rank?: number, size?: number) {
  const asked = (option: number | undefined, name: string, names: readonly string[], what: string, least: number) => {
    if (option !== undefined) return option;
    const text = url.get(name);
    if (text !== null) return integerIn({ [name]: text }, [name], what, least, MOST);
    if (env !== null) return integerIn(env, names, what, least, MOST);
    throw argumentError(
      FN,
      name === 'rank' ? 'rank' : 'worldSize',
      'an integer, as the initMethod does not give it',
      option,
    );
  };
  return {
    rank: asked(rank, 'rank', RANK_VARIABLES, 'the rank', 0),
    size: asked(size, 'world_size', SIZE_VARIABLES, 'the number of ranks', 1),
  };
}

/** The path of a URL; '' if it is not valid. */
function pathIn({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return ''; // a % that begins no byte
  }
}

/** Reads env://, tcp://host:port and file:///path, with `?rank=…&world_size=…` as in Python. */
export function meetingOf(
  initMethod: string,
  rank: number | undefined,
  size: number | undefined,
  env: Environment = process.env,
): Meeting {
  const scheme = /^(env|tcp|file):\/\//.exec(initMethod)?.[1];
  const expected = "'env://', 'tcp://host:port' or 'file:///path'";
  let url: URL;
  try {
    if (scheme === undefined) throw new TypeError('another scheme');
    // `new URL` knows hosts and ports of http only.
    url = new URL(scheme === 'tcp' ? initMethod.replace(/^tcp:/, 'http:') : initMethod);
  } catch {
    throw argumentError(FN, 'initMethod', expected, initMethod);
  }
  if (scheme === 'env') {
    const found = place(env, url.searchParams, rank, size);
    return {
      kind: 'tcp',
      ...found,
      host: masterHost(env),
      port: integerIn(env, ['MASTER_PORT'], 'the port of rank 0', 0, 65535),
    };
  }
  const found = place(null, url.searchParams, rank, size);
  if (scheme === 'file') {
    const path = pathIn(url);
    if (path === '' || path === '/') throw argumentError(FN, 'initMethod', expected, initMethod);
    return { kind: 'file', path, ...found };
  }
  const port = /:(\d+)(?:[/?]|$)/.exec(initMethod.slice('tcp://'.length))?.[1];
  if (url.hostname === '' || port === undefined) throw argumentError(FN, 'initMethod', expected, initMethod);
  return { kind: 'tcp', host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(port), ...found };
}
