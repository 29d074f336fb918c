/** The shutdown of the service: accepted requests are not lost. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import * as net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** Call before the server listens. */
export function drainable(app: FastifyInstance) {
  let draining = false;
  /** Open connections, with the request that each is reading or answering. */
  const connections = new Map<net.Socket, IncomingMessage | undefined>();

  app.server.on('connection', (socket: net.Socket) => {
    connections.set(socket, undefined);
    socket.once('close', () => connections.delete(socket));
  });
  app.server.on('request', (request, response) => {
    const { socket } = request;
    connections.set(socket, request);
    response.once('close', () => {
      if (connections.get(socket) === request) connections.set(socket, undefined);
    });
  });
  // A request may be in transit on an open connection. This can only be excluded after an answer with `connection: close`.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (draining) reply.header('connection', 'close');
    done();
  });

  return {
    draining: () => draining,
    /** Stops accepting connections, answers requests on open ones for up to `graceMs`, then closes them. */
    async drain(graceMs: number): Promise<void> {
      draining = true;
      if (app.server.listening) {
        const allClosed = once(app.server, 'close');
        // Not http's own close(), which also closes connections whose first request has not been read yet.
        net.Server.prototype.close.call(app.server);
        await Promise.race([allClosed, sleep(graceMs, undefined, { ref: false })]);
      }
      // After this, connections that do not send a complete request would otherwise stay open.
      for (const [socket, request] of connections) if (!request?.complete) socket.destroy();
      await app.close();
    },
  };
}
