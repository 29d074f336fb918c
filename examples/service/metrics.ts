/** `/metrics`, for Prometheus: libtorch's memory, Node's own figures, and the service's counters. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { exportToPrometheus } from 'libtorch-node/metrics';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WorkerStatus } from './backend';
import type { Batcher } from './batcher';

declare module 'fastify' {
  interface FastifyRequest {
    /** Called when the client disconnects before it has its answer. */
    cancel: (() => void) | null;
  }
}

export interface Metrics {
  /** Requests that were begun, those that were answered, and those whose client disconnected before. */
  counts: { begun: number; answered: number; gone: number };
  batch(size: number): void;
  model(outcome: string): void;
}

export interface MetricsSources {
  batcher(): Batcher<unknown, unknown>;
  /** The workers' current figures; empty if the service runs the model itself. */
  workers(): Promise<WorkerStatus[]>;
  /** Whether to record the process and export the verdict of leak-audit. */
  verdict: boolean;
}

export function addMetrics(app: FastifyInstance, { batcher, workers, verdict }: MetricsSources): Metrics {
  const register = new Registry();
  const exported = exportToPrometheus({ register, verdict });
  app.addHook('onClose', async () => exported.stop());
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1 });
  const registers = [register];

  const seconds = new Histogram({
    name: 'service_request_seconds',
    help: 'time from the first byte of a request to its answer',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const batches = new Histogram({
    name: 'service_batch_size',
    help: 'requests in one batch',
    buckets: [1, 2, 4, 8, 16, 32, 64],
    registers,
  });
  const reloads = new Counter({
    name: 'service_model_loads_total',
    help: 'checks of a new model file, by result',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({
    name: 'service_queue_length',
    help: 'requests that wait for a batch',
    registers,
    collect() {
      this.set(batcher().waiting);
    },
  });
  const measureWorkers = addWorkers(registers, workers);

  const counts = { begun: 0, answered: 0, gone: 0 };
  /** By route and then status: to look a child up by its labels takes longer than to observe a value. */
  const children = new Map<string, Map<number, Histogram.Internal<'route' | 'status'>>>();
  const newChild = (route: string, status: number) => {
    const child = seconds.labels({ route, status });
    children.set(route, (children.get(route) ?? new Map()).set(status, child));
    return child;
  };
  const observe = (request: FastifyRequest, reply: FastifyReply, ms: number): void => {
    const route = request.routeOptions.url ?? 'none';
    const child = children.get(route)?.get(reply.statusCode) ?? newChild(route, reply.statusCode);
    child.observe(ms / 1000);
  };
  // One listener for all that follows the end of a request: each takes 2 µs, and Fastify's onResponse hook two more of them.
  app.decorateRequest('cancel', null);
  app.addHook('onRequest', (request, reply, done) => {
    const start = performance.now();
    counts.begun++;
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished) {
        counts.answered++;
        observe(request, reply, performance.now() - start);
      } else {
        counts.gone++;
        request.cancel?.();
      }
    });
    done();
  });
  app.get('/metrics', async (_request, reply) => {
    await measureWorkers();
    const text = await register.metrics();
    return reply.type(register.contentType).send(text);
  });
  return {
    counts,
    batch: (size) => batches.observe(size),
    model: (outcome) => reloads.inc({ outcome }),
  };
}

/** The figures of the worker processes. The returned function collects them. */
function addWorkers(registers: Registry[], workers: MetricsSources['workers']): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `service_worker_${name}`, help, labelNames: ['worker'], registers });
  const tensors = gauge('tensors', 'live tensors of a worker');
  const bytes = gauge('live_bytes', 'bytes of the live tensors of a worker');
  const restarts = gauge('restarts', 'restarts of a worker');
  return async () => {
    for (const [worker, { memory, restarts: times }] of (await workers()).entries()) {
      restarts.set({ worker }, times);
      if (memory === undefined) continue; // it is starting
      tensors.set({ worker }, memory.tensors);
      bytes.set({ worker }, memory.bytes);
    }
  };
}
