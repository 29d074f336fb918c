/** Runs the service until a signal ends it. */
import type { AddressInfo } from 'node:net';
import * as torch from 'libtorch-node';
import { createService } from './app';
import { readOptions } from './options';

/** Starts the service with these arguments, and ends it at SIGTERM or SIGINT. @throws an Error for a wrong option or model */
export async function serve(args: string[]): Promise<void> {
  const options = readOptions(args);
  torch.setMemoryLimit(options.memoryLimitMb * 2 ** 20);
  const { app, source, metrics, end } = createService(options);

  // Once: a second signal ends the process immediately.
  const stop = (signal: string) => {
    console.log(`${signal}: draining`);
    void end().then(() => {
      const { begun, answered, gone } = metrics.counts;
      console.log(`ended: ${begun} requests begun, ${answered} answered, ${gone} clients gone before`);
    });
  };
  try {
    await source.open(options.pollMs);
    process.once('SIGTERM', stop).once('SIGINT', stop);
    process.on('SIGHUP', () => void source.reload(true));
    await app.listen({ host: options.host, port: options.port });
    const { address, port, family } = app.server.address() as AddressInfo;
    console.log(`listening on http://${family === 'IPv6' ? `[${address}]` : address}:${port}`);
  } catch (error) {
    await end();
    throw error;
  }
}
