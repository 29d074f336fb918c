/**
 * The model as ONNX behind the example's own batcher, schema and framework, with onnxruntime instead of libtorch. Its
 * tensors are plain memory, so scopes are not needed. node onnx.cjs MODEL.onnx ONNXRUNTIME
 */
'use strict';

const fastify = require('fastify');
const { collectDefaultMetrics, Registry } = require('prom-client');
const { Batcher } = require('../../dist/examples/service/batcher.js');
const { questionSchema, PIXELS, SIDE } = require('../../dist/examples/service/input.js');

const [file, folder] = process.argv.slice(2);
const onnx = require(folder);
const CLASSES = 10;

async function main() {
  const session = await onnx.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const batcher = new Batcher({
    maxBatch: 32,
    maxWaitMs: 2,
    maxQueue: 256,
    queueTimeoutMs: 5000,
    slots: () => 1,
    async run(images) {
      const batch = new Float32Array(images.length * PIXELS);
      for (const [i, pixels] of images.entries()) batch.set(pixels, i * PIXELS);
      const { probabilities } = await session.run({
        images: new onnx.Tensor('float32', batch, [images.length, 1, SIDE, SIDE]),
      });
      return images.map((_, i) => {
        const row = Array.from(probabilities.data.subarray(i * CLASSES, (i + 1) * CLASSES));
        return { digit: row.indexOf(Math.max(...row)), probabilities: row };
      });
    },
  });
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1 });
  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false } } });
  app.get('/metrics', () => register.metrics());
  app.post('/classify', { schema: { body: questionSchema } }, (request) => {
    return batcher.add(new Float32Array(request.body.pixels)).answer;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  console.log(`listening on http://127.0.0.1:${app.server.address().port}`);
}

void main();
