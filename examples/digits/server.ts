/**
 * Reads digits over HTTP, on this machine only.
 * As a program: `node server.js --weights FILE --cache unbounded|bounded [--capacity N] [--port N]`.
 */
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import fastify, { type FastifyInstance } from 'fastify';
import * as torch from 'libtorch-node';
import { BoundedCache, type ImageCache, UnboundedCache } from './cache';
import { PIXELS } from './data';
import { Model } from './model';

const HOST = '127.0.0.1';
const CAPACITY = 256;
const MAX_BODY_BYTES = 64 * 1024;

interface Question {
  pixels: number[];
}

export interface Answer {
  digit: number;
  probabilities: number[];
}

/** Checked before the handler runs: an invalid body is answered with 400 and never becomes a tensor. */
const question = {
  type: 'object',
  required: ['pixels'],
  properties: {
    pixels: { type: 'array', minItems: PIXELS, maxItems: PIXELS, items: { type: 'number', minimum: 0, maximum: 1 } },
  },
} as const;

export function createService(model: Model, cache: ImageCache): FastifyInstance {
  // By default Ajv would convert "0.5" and true to numbers.
  const service = fastify({ bodyLimit: MAX_BODY_BYTES, ajv: { customOptions: { coerceTypes: false } } });
  service.post<{ Body: Question }>('/classify', { schema: { body: question } }, (request) =>
    Promise.resolve(classify(model, cache.image.bind(cache, request.id), request.body.pixels)),
  );
  service.get('/memory', () => Promise.resolve(torch.memory()));
  return service;
}

/** All tensors of a request are freed at its end, except those that the cache keeps. */
function classify(model: Model, prepare: (pixels: number[]) => torch.Tensor, pixels: number[]): Answer {
  return torch.scope(() =>
    torch.noGrad(() => {
      const probabilities = model.forward(prepare(pixels)).softmax(0);
      return { digit: Number(probabilities.argmax().item()), probabilities: probabilities.toArray() as number[] };
    }),
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      weights: { type: 'string' },
      cache: { type: 'string' },
      capacity: { type: 'string', default: String(CAPACITY) },
      port: { type: 'string', default: '0' },
    },
  });
  if (values.weights === undefined || (values.cache !== 'unbounded' && values.cache !== 'bounded')) {
    throw new Error('usage: server.js --weights FILE --cache unbounded|bounded [--capacity N] [--port N]');
  }
  const cache = values.cache === 'bounded' ? new BoundedCache(Number(values.capacity)) : new UnboundedCache();
  const service = createService(Model.load(values.weights), cache);
  await service.listen({ host: HOST, port: Number(values.port) });
  console.log(`listening on http://${HOST}:${(service.server.address() as AddressInfo).port}`);

  // Answers the open requests; then the event loop is empty and the process ends with status 0.
  let closing = false;
  const close = () => {
    if (!closing) void service.close();
    closing = true;
  };
  process.on('SIGTERM', close).on('SIGINT', close);
}

if (require.main === module) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
