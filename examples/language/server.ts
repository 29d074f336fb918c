/** Answers prompts over HTTP, token by token. A client that goes away ends its generation, and frees its memory. */
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance } from 'fastify';
import torch from 'libtorch-node';
import { type Decoder, stream } from './generate';
import type { Adapter } from './lora';
import type { Sampling } from './sampling';
import { reader, type Tokenizer } from './tokenizer';

export interface Served {
  model: Decoder;
  tokenizer: Tokenizer;
  adapters: ReadonlyMap<string, Adapter>;
}

/** More are refused with 503: each has a cache. */
const MAX_GENERATIONS = 64;
const MAX_PROMPT = 10_000;

interface Question extends Omit<Sampling, 'adapter'> {
  prompt: string;
  maxTokens: number;
  adapter?: string;
}

const body = {
  type: 'object',
  required: ['prompt'],
  additionalProperties: false,
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: MAX_PROMPT },
    maxTokens: { type: 'integer', minimum: 1, maximum: 10_000, default: 100 },
    temperature: { type: 'number', minimum: 0, maximum: 100 },
    topK: { type: 'integer', minimum: 1 },
    topP: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 32 },
    adapter: { type: 'string' },
  },
};

/** `POST /generate` streams the continuation as text; `GET /health` shows the memory. */
export function createServer({ model, tokenizer, adapters }: Served): FastifyInstance {
  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false } } });
  let running = 0;

  app.get('/health', () => {
    const { tensors, bytes } = torch.memory();
    return Promise.resolve({ running, adapters: [...adapters.keys()], memory: { tensors, bytes } });
  });

  app.post<{ Body: Question }>('/generate', { schema: { body } }, (request, reply) => {
    const { prompt, adapter: name, ...wish } = request.body;
    const adapter = name === undefined ? undefined : adapters.get(name);
    const refuse = (status: number, message: string) => reply.code(status).send({ message });
    if (name !== undefined && adapter === undefined)
      return refuse(400, `adapter: expected one of [${[...adapters.keys()]}], got ${JSON.stringify(name)}`);
    const ids = tokenizer.encode(prompt);
    const { positions } = model.cacheSizes;
    if (ids.length === 0 || ids.length >= positions)
      return refuse(400, `prompt: expected from 1 to ${positions - 1} tokens, got ${ids.length}`);
    if (running >= MAX_GENERATIONS) return refuse(503, `${running} generations are running`);

    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const text = async function* () {
      running++;
      try {
        const read = reader(tokenizer);
        for await (const token of stream(model, ids, { ...wish, adapter }, gone.signal)) yield read(token);
      } catch (error) {
        if (!gone.signal.aborted) throw error; // otherwise nobody is there to read it
      } finally {
        running--;
      }
    };
    // Each piece is sent when it is there, not when a buffer of 16 is full.
    return reply.type('text/plain; charset=utf-8').send(Readable.from(text(), { highWaterMark: 1 }));
  });
  return app;
}
