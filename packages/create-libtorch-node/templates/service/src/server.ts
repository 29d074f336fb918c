/** The service: requests in, answers out. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import torch from 'libtorch-node';
import { FEATURES, type Model, type Prediction, predict } from './model.js';

const MAX_BODY_BYTES = 64 * 1024;

/** An answer other than 200. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Refusal(413, `expected a body of at most ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The features of a body, checked before any tensor is made. */
function featuresOf(text: string): number[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'expected JSON');
  }
  const features = (body as { features?: unknown } | null)?.features;
  const fits = Array.isArray(features) && features.length === FEATURES && features.every(Number.isFinite);
  if (!fits) throw new Refusal(400, `expected { "features": [${FEATURES} numbers] }`);
  return features as number[];
}

/** Numbers beyond float32 are infinite in a tensor, and JSON has no NaN: without this check the probability would be null. */
function answerable(prediction: Prediction): Prediction {
  if (Number.isFinite(prediction.probability)) return prediction;
  throw new Refusal(400, 'expected features for which the model has a finite answer');
}

async function answer(model: Model, request: IncomingMessage): Promise<unknown> {
  const { method, url } = request;
  if (method === 'POST' && url === '/predict') return answerable(predict(model, featuresOf(await bodyOf(request))));
  if (method === 'GET' && url === '/healthz') return { ok: true, memory: torch.memory() };
  throw new Refusal(404, 'expected POST /predict or GET /healthz');
}

function statusOf(error: unknown): number {
  if (error instanceof Refusal) return error.status;
  // Too much at a time: a later request may succeed.
  return (error as { code?: string }).code === 'ERR_TORCH_MEMORY_LIMIT' ? 503 : 500;
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export function makeServer(model: Model): Server {
  return createServer(async (request, response) => {
    try {
      send(response, 200, await answer(model, request));
    } catch (error) {
      if (response.destroyed) return; // the client has gone: not an error of the service
      const status = statusOf(error);
      if (status === 413) response.shouldKeepAlive = false; // the rest of the body is not read
      if (status === 500) console.error(error);
      send(response, status, { error: status === 500 ? 'internal error' : (error as Error).message });
    }
  });
}
