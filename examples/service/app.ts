/** The service: from HTTP to a batch and back. */
import fastify, { type FastifyInstance } from 'fastify';
import * as torch from 'libtorch-node';
import type { Backend, Inferred } from './backend';
import { Batcher } from './batcher';
import { drainable } from './drain';
import { sendFailure } from './failures';
import { addHealth } from './health';
import { acceptInput, checkQuestion, MAX_BODY_BYTES, PIXELS, type Question, SIDE } from './input';
import { LocalBackend } from './local';
import { addMetrics, type Metrics } from './metrics';
import { ModelSource } from './model-source';
import type { Options } from './options';
import { Workers } from './workers';

/** The pixels of a request wait in plain memory for the tensor of their batch. */
type Pixels = Question['pixels'];

export interface Answer {
  digit: number;
  probabilities: number[];
  /** The version of the model that computed them. */
  model: string;
}

export interface Service {
  app: FastifyInstance;
  source: ModelSource;
  metrics: Metrics;
  /** Shuts the service down gracefully. */
  end(): Promise<void>;
}

export function createService(options: Options): Service {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: options.bodyTimeoutMs,
    // Node uses the larger of the two for the body, so its default of 60 s for the head would apply.
    http: { headersTimeout: options.bodyTimeoutMs, connectionsCheckingInterval: Math.ceil(options.bodyTimeoutMs / 4) },
    // By default Ajv would convert "0.5" and true to numbers.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  app.setErrorHandler(sendFailure);
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ error: 'NOT_FOUND', message: `${request.method} ${request.url} is not a route` }),
  );
  acceptInput(app);
  const { draining, drain } = drainable(app);

  const { memoryLimitMb, loader, scripted, offLoop } = options;
  const settings = { memoryLimitMb, loader, scripted, offLoop };
  const workers = options.workers > 0 ? new Workers(options.workers, settings, () => batcher.wake()) : undefined;
  const backend: Backend = workers ?? new LocalBackend(options.threads, settings);
  const batcher = new Batcher<Pixels, Answer>({
    ...options,
    slots: () => backend.slots(),
    run: (images) => {
      metrics.batch(images.length);
      return answerAll(backend, images);
    },
  });
  const source = new ModelSource(options.model, backend, (outcome) => metrics.model(outcome));
  const metrics = addMetrics(app, {
    batcher: () => batcher,
    workers: async () => (await workers?.measure()) ?? [],
    verdict: options.verdict,
  });
  addHealth(app, { source, backend, batcher, draining });

  app.post('/classify', (request) => {
    checkQuestion(request);
    const { answer, cancel } = batcher.add(request.body.pixels);
    request.cancel = cancel;
    return answer;
  });

  return {
    app,
    source,
    metrics,
    async end() {
      await drain(options.drainMs);
      batcher.stop();
      await source.close();
      await backend.close();
    },
  };
}

/** Runs one batch; its tensors are freed at its end, however it ends. */
function answerAll(backend: Backend, images: Pixels[]): Promise<Answer[]> | Answer[] {
  const pixels = new Float32Array(images.length * PIXELS);
  images.forEach((image, i) => void pixels.set(image, i * PIXELS));
  // Not the scope's result, which is searched for tensors that leave the scope.
  let answers: Answer[];
  const answer = ({ probabilities, version }: Inferred): void => {
    const rows = probabilities.toArray() as number[][];
    answers = rows.map((row) => ({ digit: row.indexOf(Math.max(...row)), probabilities: row, model: version }));
  };
  const ended = torch.audit.label('route', '/classify', () =>
    torch.scope(() => {
      const inferred = backend.infer(torch.fromTypedArray(pixels, [images.length, 1, SIDE, SIDE]));
      return inferred instanceof Promise ? inferred.then(answer) : answer(inferred);
    }),
  );
  return ended instanceof Promise ? ended.then(() => answers) : answers!;
}
