/** `/health`: whether the process is alive, whether it is ready for requests, and its state. */
import type { FastifyInstance } from 'fastify';
import * as torch from 'libtorch-node';
import type { Backend } from './backend';
import type { Batcher } from './batcher';
import type { ModelSource } from './model-source';

export interface HealthSources {
  source: ModelSource;
  backend: Backend;
  batcher: Batcher<unknown, unknown>;
  draining(): boolean;
}

export function addHealth(app: FastifyInstance, { source, backend, batcher, draining }: HealthSources): void {
  /** Why the service is not ready; undefined if it is. */
  const unready = (): string | undefined => {
    if (draining()) return 'draining';
    return backend.slots() === 0 ? 'no worker' : undefined;
  };

  app.get('/health/live', () => Promise.resolve({ status: 'live' }));
  app.get('/health/ready', async (_request, reply) => {
    const why = unready();
    return reply.code(why === undefined ? 200 : 503).send({ status: why ?? 'ready' });
  });
  app.get('/health', () => {
    const { tensors, bytes, allocatedBytes } = torch.memory();
    return Promise.resolve({
      status: unready() ?? 'ready',
      model: source.status,
      waiting: batcher.waiting,
      running: batcher.running,
      workers: backend.status(),
      memory: { tensors, bytes, allocatedBytes },
    });
  });
}
