/** The failures of requests and their answers. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

/** The service cannot answer now, but may later: 503 with Retry-After. */
export class Unavailable extends Error {
  readonly statusCode = 503;

  constructor(
    readonly code: 'QUEUE_FULL' | 'QUEUE_TIMEOUT' | 'WORKER_GONE' | 'OUT_OF_MEMORY',
    message: string,
  ) {
    super(message);
    this.name = 'Unavailable';
  }
}

/** The client disconnected before its request was processed; it does not receive this answer. */
export class ClientGone extends Error {
  readonly statusCode = 499;
  readonly code = 'CLIENT_GONE';
}

/** The model file was refused. */
export class ModelRefused extends Error {
  readonly code = 'MODEL_REFUSED';
}

const RETRY_AFTER_SECONDS = 1;
const MEMORY_CODES = new Set(['ERR_TORCH_MEMORY_LIMIT', 'ERR_TORCH_OUT_OF_MEMORY']);

/** All errors have the form `{ error, message }`. Internal errors are logged, and the client does not get the details. */
export function sendFailure(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (MEMORY_CODES.has(error.code)) {
    console.error(`${request.method} ${request.url}: ${error.message}`);
    return sendFailure(new Unavailable('OUT_OF_MEMORY', 'the service is short of memory'), request, reply);
  }
  const status = error.statusCode ?? 500;
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS);
  if (status >= 500 && status !== 503) {
    console.error(`${request.method} ${request.url}:`, error);
    return reply.code(500).send({ error: 'INTERNAL', message: 'the request failed inside the service' });
  }
  return reply.code(status).send({ error: error.code, message: error.message });
}
