/** The shutdown of the service: accepted requests are not lost. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import * as net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** Call before the server listens. */
export function drainable(app: FastifyInstance) {
  let draining = false;
  /** Open connections, with the last answer of each: a listener for the end of every answer would take 2 µs. */
  const connections = new Map<net.Socket, ServerResponse | undefined>();

  app.server.on('connection', (socket: net.Socket) => {
    connections.set(socket, undefined);
    socket.once('close', () => connections.delete(socket));
  });
  // A request may be in transit on an open connection. This can only be excluded after an answer with `connection: close`.
  const beLast = (response: ServerResponse | undefined) => {
    if (response?.headersSent === false) response.setHeader('connection', 'close');
  };
  // Before Fastify's own, which may answer at once.
  app.server.prependListener('request', (request, response) => {
    connections.set(request.socket, response);
    if (draining) beLast(response);
  });

  return {
    draining: () => draining,
    /** Stops accepting connections, answers requests on open ones for up to `graceMs`, then closes them. */
    async drain(graceMs: number): Promise<void> {
      draining = true;
      connections.forEach(beLast);
      if (app.server.listening) {
        const allClosed = once(app.server, 'close');
        // Not http's own close(), which also closes connections whose first request has not been read yet.
        net.Server.prototype.close.call(app.server);
        await Promise.race([allClosed, sleep(graceMs, undefined, { ref: false })]);
      }
      // After this, connections that do not send a complete request would otherwise stay open.
      for (const [socket, response] of connections) {
        const isBeingAnswered = response?.req.complete && !response.writableFinished;
        if (!isBeingAnswered) socket.destroy();
      }
      await app.close();
    },
  };
}
