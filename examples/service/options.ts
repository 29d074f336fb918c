/** The service's command line options. */
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';

export interface Options {
  /** The model's file; it may be replaced while the service runs. */
  model: string;
  /** The module whose `loadModel` loads the file; undefined: model.ts, which loads TorchScript. */
  loader: string | undefined;
  /** Whether TorchScript runs as it is, without measuring its optimised form. */
  scripted: boolean;
  /** Whether each batch runs on a thread of torch's pool, also of a small model. */
  offLoop: boolean;
  host: string;
  port: number;
  /** Processes that run the model; 0: this one does, on its own threads. */
  workers: number;
  /** Concurrent batches in one process. */
  threads: number;
  maxBatch: number;
  maxWaitMs: number;
  maxQueue: number;
  queueTimeoutMs: number;
  bodyTimeoutMs: number;
  memoryLimitMb: number;
  pollMs: number;
  drainMs: number;
  /** Whether /metrics has the verdict of leak-audit, for which the process is recorded. */
  verdict: boolean;
}

/** By name on the command line: the default and the description. */
const numbers = {
  port: [8080, 'port to listen on; 0: a free one'],
  workers: [0, 'processes that run the model; 0: this one does'],
  threads: [Math.max(1, os.availableParallelism() - 1), 'batches at the same time in one process'],
  'max-batch': [32, 'requests in one batch'],
  'max-wait': [2, 'ms that a batch waits for more requests'],
  'max-queue': [256, 'requests that may wait for a batch; further ones are refused with 503'],
  'queue-timeout': [5000, 'ms after which a waiting request is refused with 503'],
  'body-timeout': [10_000, 'ms for a request to arrive'],
  'memory-limit': [512, 'MiB of tensors in one process'],
  poll: [1000, 'ms between two checks of the model file'],
  drain: [2000, 'ms at shutdown in which open connections may send another request'],
} as const;

type NumberName = keyof typeof numbers;

export const usage = `usage: node main.js --model FILE [--host 127.0.0.1] [options]
${Object.entries(numbers)
  .map(([name, [value, text]]) => `  --${`${name} N`.padEnd(17)}${text} (${value})`)
  .join('\n')}
  --loader MODULE     a module that exports loadModel, as model.ts does; for files other than TorchScript
  --scripted          run TorchScript as it is, without measuring its optimised form
  --off-loop          run each batch on a thread of torch's pool, even if a batch of 32 takes less than 2 ms
  --verdict           record tensors, and give the verdict of leak-audit in /metrics`;

/** @throws an Error that names the wrong option, or has the usage */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: 'string' },
      loader: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      scripted: { type: 'boolean', default: false },
      'off-loop': { type: 'boolean', default: false },
      verdict: { type: 'boolean', default: false },
      ...(Object.fromEntries(Object.keys(numbers).map((name) => [name, { type: 'string' }])) as Record<
        NumberName,
        { type: 'string' }
      >),
    },
  });
  if (values.model === undefined) throw new Error(usage);
  const number = (name: NumberName): number => {
    const text = values[name];
    const value = text === undefined ? numbers[name][0] : Number(text);
    const least = name === 'port' || name === 'workers' || name === 'max-wait' || name === 'drain' ? 0 : 1;
    const most = name === 'port' ? 65_535 : 1_000_000;
    if (text?.trim() === '' || !Number.isInteger(value) || value < least || value > most) {
      throw new Error(`--${name}: expected an integer from ${least} to ${most}, got ${text}`);
    }
    return value;
  };
  return {
    model: values.model,
    loader: values.loader === undefined ? undefined : path.resolve(values.loader),
    scripted: values.scripted,
    offLoop: values['off-loop'],
    host: values.host,
    port: number('port'),
    workers: number('workers'),
    threads: number('threads'),
    maxBatch: number('max-batch'),
    maxWaitMs: number('max-wait'),
    maxQueue: number('max-queue'),
    queueTimeoutMs: number('queue-timeout'),
    bodyTimeoutMs: number('body-timeout'),
    memoryLimitMb: number('memory-limit'),
    pollMs: number('poll'),
    drainMs: number('drain'),
    verdict: values.verdict,
  };
}
