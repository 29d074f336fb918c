/** The end of the service: nothing that was accepted is lost. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import * as net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** Call before it listens. */
export function drainable(app: FastifyInstance) {
  let draining = false;
  /** Open connections, with the request that is being read or answered on each. */
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
  // An open connection may carry a request that is on its way. Only after an answer that says so is it known to carry none.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (draining) reply.header('connection', 'close');
    done();
  });

  return {
    draining: () => draining,
    /** Accepts no more connections, answers what comes on those that are open for up to `graceMs`, then closes them. */
    async drain(graceMs: number): Promise<void> {
      draining = true;
      if (app.server.listening) {
        const allClosed = once(app.server, 'close');
        // Not http's own close(), which also cuts connections on which no request has been read yet.
        net.Server.prototype.close.call(app.server);
        await Promise.race([allClosed, sleep(graceMs, undefined, { ref: false })]);
      }
      // From here on nobody would end those that send nothing, or never all of it.
      for (const [socket, request] of connections) if (!request?.complete) socket.destroy();
      await app.close();
    },
  };
}
