/** The input formats: JSON, checked against a schema, or the pixels' bytes as in memory. */
import type { FastifyInstance } from 'fastify';

export const SIDE = 28;
export const PIXELS = SIDE * SIDE;
export const MAX_BODY_BYTES = 64 * 1024;

/** The handler's checked input: numbers from 0 to 1. */
export interface Question {
  pixels: number[] | Float32Array;
}

/** Checked before any tensor is made: an invalid body is answered with 400. */
export const bodySchema = {
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['pixels'],
        additionalProperties: false,
        properties: {
          pixels: {
            type: 'array',
            minItems: PIXELS,
            maxItems: PIXELS,
            items: { type: 'number', minimum: 0, maximum: 1 },
          },
        },
      },
    },
    'application/octet-stream': { schema: {} },
  },
} as const;

class BadBytes extends Error {
  readonly statusCode = 400;
  readonly code = 'BAD_BYTES';
}

/** `application/octet-stream`: 784 float32, little-endian. A schema cannot check bytes, so this does. */
export function acceptBytes(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain'); // Fastify's own: the schema has no such body, so nothing would check it
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
  if (body.length !== bytes) throw new BadBytes(`expected ${bytes} bytes, got ${body.length}`);
  const pixels = new Float32Array(PIXELS);
  for (let i = 0; i < PIXELS; i++) {
    const value = body.readFloatLE(4 * i);
    // Written so that NaN fails too.
    if (!(value >= 0 && value <= 1)) throw new BadBytes(`pixel ${i}: expected a number from 0 to 1, got ${value}`);
    pixels[i] = value;
  }
  return pixels;
}
