/** The input formats: JSON, checked against a schema, or the pixels' bytes as in memory. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as torch from 'libtorch-node';

export const SIDE = 28;
export const PIXELS = SIDE * SIDE;
export const MAX_BODY_BYTES = 64 * 1024;

/** The handler's input: numbers from 0 to 1. Typed arrays are checked already, other input by `checkQuestion`. */
export interface Question {
  pixels: number[] | Float32Array;
}

/** What a body of JSON must be, before any tensor is made. */
export const questionSchema = {
  type: 'object',
  required: ['pixels'],
  additionalProperties: false,
  properties: {
    pixels: { type: 'array', minItems: PIXELS, maxItems: PIXELS, items: { type: 'number', minimum: 0, maximum: 1 } },
  },
} as const;

class BadBody extends Error {
  readonly statusCode = 400;

  constructor(
    readonly code: 'BAD_BYTES' | 'FST_ERR_VALIDATION',
    message: string,
  ) {
    super(message);
  }
}

export function acceptInput(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain'); // Fastify's own, for another type of input
  acceptJson(app);
  acceptBytes(app);
}

/** Valid pixels are read as numbers at once; every other body by Fastify's parser, and then checked against the schema. */
function acceptJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const pixels = pixelsIn(body as Buffer);
    if (pixels === undefined) parse(request, body.toString(), done);
    else done(null, { pixels } satisfies Question);
  });
}

function pixelsIn(body: Buffer): Float32Array | undefined {
  let question: Partial<Question> | null;
  try {
    question = torch.utils.parseJSON(body, { pixels: Float32Array }) as Partial<Question> | null;
  } catch {
    return undefined; // not JSON: Fastify's parser says so
  }
  const pixels = question?.pixels;
  const isKnown = pixels instanceof Float32Array && pixels.length === PIXELS && Object.keys(question!).length === 1;
  return isKnown && areInRange(pixels) ? pixels : undefined;
}

/** `every` and iterators would call a function for each number. */
function areInRange(pixels: Float32Array): boolean {
  for (let i = 0; i < pixels.length; i++) {
    const value = pixels[i]!;
    if (!(value >= 0 && value <= 1)) return false;
  }
  return true;
}

/** @throws BadBody unless the request's body is a question */
export function checkQuestion(request: FastifyRequest): asserts request is FastifyRequest<{ Body: Question }> {
  const question = request.body as Partial<Question> | undefined;
  if (ArrayBuffer.isView(question?.pixels)) return;
  const check = request.compileValidationSchema(questionSchema, 'body');
  if (check(question)) return;
  const [error] = check.errors!;
  throw new BadBody(
    'FST_ERR_VALIDATION', // as where Fastify checks the schema
    `body${error!.instancePath} ${error!.message}`,
  );
}

/** `application/octet-stream`: 784 float32, little-endian. */
function acceptBytes(app: FastifyInstance): void {
  app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, { pixels: pixelsOf(body as Buffer) } satisfies Question);
    } catch (error) {
      done(error as Error);
    }
  });
}

function pixelsOf(body: Buffer): Float32Array {
  const bytes = PIXELS * Float32Array.BYTES_PER_ELEMENT;
  if (body.length !== bytes) throw new BadBody('BAD_BYTES', `expected ${bytes} bytes, got ${body.length}`);
  const pixels = new Float32Array(PIXELS);
  for (let i = 0; i < PIXELS; i++) {
    const value = body.readFloatLE(4 * i);
    // Written so that NaN fails too.
    if (!(value >= 0 && value <= 1))
      throw new BadBody('BAD_BYTES', `pixel ${i}: expected a number from 0 to 1, got ${value}`);
    pixels[i] = value;
  }
  return pixels;
}
