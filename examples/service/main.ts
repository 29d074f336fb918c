/** A service that reads digits, built for production: `node main.js --model FILE`. See README.md. */
import type { AddressInfo } from 'node:net';
import * as torch from 'libtorch-node';
import { createService } from './app';
import { readOptions } from './options';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
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

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
