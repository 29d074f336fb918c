/** Serves the profile of the live tensors over HTTP. The recording of stacks is on while there is a handler. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { native } from '../addon/native';
import { isOptions, ownOptions } from '../addon/options';
import type { Demand, Labels } from '../addon/recorder';
import { argumentError } from '../errors/errors';
import { knownRank } from '../observe/rank';
import { unwatch, watch } from '../observe/watch';
import { liveSamples, SAMPLE_TYPES } from './live';
import { encodeProfile } from './profile';

export interface PprofOptions {
  /**
   * The average distance in bytes between recorded stacks (default 65536); a tensor counts 64 bytes more than its storage.
   * Larger tensors are always recorded. 0 records every tensor, at a few microseconds each. Bytes and counts are exact with
   * any distance: tensors without a stack are shown under a frame of their own.
   */
  sampleBytes?: number | undefined;
  /** Labels of every sample, for example `{ instance: 'a' }`. Default: `rank`, if the process is a rank of a group. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** The part of `http.IncomingMessage` that is used here. */
export interface PprofRequest {
  readonly method?: string | undefined;
}

/** The part of `http.ServerResponse` that is used here. */
export interface PprofResponse {
  readonly headersSent: boolean;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  end(body?: string | Uint8Array): unknown;
  destroy(error?: Error): unknown;
}

/** Answers a request with the profile. */
export interface PprofHandler {
  (request: PprofRequest, response: PprofResponse): void;
  /** Ends the recording. Further requests are answered with 503. Further calls do nothing. */
  stop(): void;
  [Symbol.dispose](): void;
}

const FN = 'pprof.handler';
const DEFAULT_SAMPLE_BYTES = 65_536;
/** Labels that the library sets. `route` and others come from torch.audit.label. */
const RESERVED = ['thread', 'device'];

const compress = promisify(gzip);

function checkedLabels(given: unknown): Labels {
  if (!isOptions(given)) throw argumentError(FN, 'labels', 'an object of strings', given);
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string') throw argumentError(FN, `labels.${name}`, 'a string', value);
    if (RESERVED.includes(name)) throw argumentError(FN, 'labels', `names other than ${RESERVED.join(', ')}`, name);
  }
  return { ...given } as Labels;
}

function rankLabel(): Labels {
  const rank = knownRank();
  return rank === null ? {} : { rank };
}

function refuse(response: PprofResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers });
  response.end(`${text}\n`);
}

/** To the caller, such as a framework that passes objects of its own: an error in the promise would end the process. */
function demandHttp(request: unknown, response: unknown): void {
  if (typeof request !== 'object' || request === null)
    throw argumentError(FN, 'request', 'an IncomingMessage', request);
  const { writeHead, end, destroy } = Object(response) as Partial<PprofResponse>;
  if ([writeHead, end, destroy].every((member) => typeof member === 'function')) return;
  throw argumentError(FN, 'response', "a ServerResponse of Node, such as Fastify's reply.raw", response);
}

/**
 * A `(req, res)` that answers with a gzipped pprof profile of the live tensors (`inuse_objects`, `inuse_space`), for
 * `go tool pprof`, Grafana Pyroscope and Parca. From this call until `stop()`, stacks of new tensors of this thread are
 * recorded. docs/pprof.md describes labels, cost and scraping.
 *
 * @throws ERR_TORCH_ARGUMENT for an invalid option
 */
export function handler(options: PprofOptions = {}): PprofHandler {
  const { sampleBytes = DEFAULT_SAMPLE_BYTES, labels } = ownOptions(FN, options, ['sampleBytes', 'labels']);
  if (!Number.isFinite(sampleBytes) || sampleBytes < 0) {
    throw argumentError(FN, 'sampleBytes', 'a number of bytes, 0 or more', sampleBytes);
  }
  const fixed = { ...rankLabel(), ...(labels === undefined ? {} : checkedLabels(labels)) };
  const demand: Demand = { sampleBytes, deaths: false, labels: true };
  watch(native, demand);
  let isStopped = false;

  async function answer(request: PprofRequest, response: PprofResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return refuse(response, 405, `expected the method GET, got ${request.method}`, { allow: 'GET, HEAD' });
    }
    if (isStopped) return refuse(response, 503, 'the recording was stopped');
    const startedAt = Date.now();
    const head = {
      ...{ sampleTypes: SAMPLE_TYPES, defaultSampleType: 'inuse_space', startedAt, durationMs: 0 },
      comment: 'libtorch-node/pprof: live tensors',
    };
    const body = await compress(encodeProfile(head, liveSamples(fixed)), { level: 1 });
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="tensors.pb.gz"',
      'content-length': body.length,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  /** Such as memory that is exhausted, or a response that another handler has begun: a scrape must not end the service. */
  function answerError(response: PprofResponse, error: Error): void {
    try {
      if (response.headersSent) response.destroy(error);
      else refuse(response, 500, `cannot make the profile: ${error.message}`);
    } catch {
      response.destroy(error);
    }
  }

  const handle = (request: PprofRequest, response: PprofResponse): void => {
    demandHttp(request, response);
    answer(request, response).catch((error: Error) => answerError(response, error));
  };
  const stop = () => {
    if (!isStopped) unwatch(native, demand);
    isStopped = true;
  };
  return Object.assign(handle, { stop, [Symbol.dispose]: stop });
}
