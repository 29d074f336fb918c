/** The figures for Prometheus, through the program's prom-client. Read only on a scrape. */

import { type MemoryReport, native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import { peer } from '../errors/peer';
import { DEVICE_LABEL, type DeviceFigure, deviceFigures, processFigures, verdictFigures } from './figures';
import { VERDICTS, type VerdictOptions, VerdictWatch } from './verdict';

/** The part of a prom-client registry that is used here. */
export interface PrometheusRegistry {
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** The part of prom-client that is used here, for a prom-client that libtorch-node cannot resolve. */
export interface PrometheusClient {
  readonly Gauge: new (configuration: any) => PrometheusMetric;
  readonly Counter: new (configuration: any) => PrometheusMetric;
  readonly register: PrometheusRegistry;
}

/** A metric of prom-client. */
export interface PrometheusMetric {
  reset(): void;
}

export interface PrometheusOptions {
  /** The registry of the metrics (default: prom-client's own). */
  register?: PrometheusRegistry | undefined;
  /** The prefix of their names (default 'libtorch_node_'). */
  prefix?: string | undefined;
  /** prom-client itself (default: `require('prom-client')`). */
  client?: PrometheusClient | undefined;
  /**
   * Also exports the verdict of `leak-audit` on this process; `true` for the defaults. This records the process and judges it
   * in a child process: docs/metrics.md has the cost. Default: no recording and no metric.
   */
  verdict?: VerdictOptions | boolean | undefined;
}

/** Exported metrics, until stop(). */
export interface Exported {
  /** Removes the metrics. Further calls do nothing. */
  stop(): void;
  [Symbol.dispose](): void;
}

export const exported = (end: () => void): Exported => {
  let ended = false;
  const stop = () => {
    if (!ended) end();
    ended = true;
  };
  return { stop, [Symbol.dispose]: stop };
};

interface Gauge extends PrometheusMetric {
  remove(): void;
  set(value: number): void;
  set(labels: Record<string, string>, value: number): void;
}

interface Counter extends PrometheusMetric {
  inc(value: number): void;
  inc(labels: Record<string, string>, value: number): void;
}

const { verdict: VERDICT, rate: LEAK_RATE, judgedAt: JUDGED_AT, judgements: JUDGEMENTS } = verdictFigures;

/** A scrape collects all metrics at once: they share one reading. */
function oneReading(): () => MemoryReport {
  let reading: MemoryReport | undefined;
  return () => {
    if (reading === undefined) {
      reading = native.memory();
      queueMicrotask(() => {
        reading = undefined;
      });
    }
    return reading;
  };
}

type Named = Pick<DeviceFigure, 'prometheus' | 'help'>;

/** The metrics of one export: made one by one, removed together. */
class Metrics {
  readonly #client: PrometheusClient;
  readonly #registry: PrometheusRegistry;
  readonly #prefix: string;
  readonly #names: string[] = [];

  constructor(client: PrometheusClient, registry: PrometheusRegistry, prefix: string) {
    this.#client = client;
    this.#registry = registry;
    this.#prefix = prefix;
  }

  gauge(figure: Named, labelNames: string[], collect: (gauge: Gauge) => void): void {
    this.#add(this.#client.Gauge, figure, labelNames, collect);
  }

  counter(figure: Named, labelNames: string[], collect: (counter: Counter) => void): void {
    this.#add(this.#client.Counter, figure, labelNames, collect);
  }

  /** prom-client throws if the name is taken; then there is nothing to remove. */
  #add<M extends PrometheusMetric>(
    Kind: new (configuration: any) => PrometheusMetric,
    { prometheus, help }: Named,
    labelNames: string[],
    collect: (metric: M) => void,
  ): void {
    const name = this.#prefix + prometheus;
    new Kind({
      name,
      help: `${help}.`,
      registers: [this.#registry],
      labelNames,
      collect(this: M) {
        this.reset(); // removes values of missing devices and of a lifted limit
        collect(this);
      },
    });
    this.#names.push(name);
  }

  remove(): void {
    for (const name of this.#names) this.#registry.removeSingleMetric(name);
  }
}

function addMemory(metrics: Metrics): void {
  const read = oneReading();
  for (const figure of deviceFigures) {
    metrics.gauge(figure, [DEVICE_LABEL], (gauge) => {
      for (const [device, totals] of Object.entries(read().devices)) {
        gauge.set({ [DEVICE_LABEL]: device }, totals[figure.of]);
      }
    });
  }
  for (const figure of processFigures) {
    if (figure.kind === 'counter') {
      metrics.counter(figure, [], (counter) => counter.inc(figure.read() ?? 0));
    } else {
      metrics.gauge(figure, [], (gauge) => {
        const value = figure.read();
        if (value === null) gauge.remove();
        else gauge.set(value);
      });
    }
  }
}

function addVerdict(metrics: Metrics, judged: VerdictWatch): void {
  metrics.gauge(VERDICT, ['verdict'], (gauge) => {
    const { latest } = judged;
    if (latest === undefined) return;
    for (const one of VERDICTS) gauge.set({ verdict: one }, one === latest.verdict ? 1 : 0);
  });
  metrics.gauge(LEAK_RATE, ['site', 'function'], (gauge) => {
    for (const { site, function: name, bytesPerMinute } of judged.latest?.leaks ?? []) {
      gauge.set({ site, function: name }, bytesPerMinute);
    }
  });
  metrics.gauge(JUDGED_AT, [], (gauge) => {
    if (judged.latest === undefined) gauge.remove();
    else gauge.set(judged.latest.at / 1000);
  });
  metrics.counter(JUDGEMENTS, ['outcome'], (counter) => {
    for (const [outcome, times] of Object.entries(judged.judgements)) counter.inc({ outcome }, times);
  });
}

/**
 * Exports the memory of tensors and libtorch to Prometheus. The names are in docs/metrics.md.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE without prom-client
 */
export function exportToPrometheus(options: PrometheusOptions = {}): Exported {
  const given = ownOptions('exportToPrometheus', options, ['register', 'prefix', 'client', 'verdict']);
  const { register, prefix = 'libtorch_node_', client, verdict = false } = given;
  const fn = 'exportToPrometheus';
  if (typeof prefix !== 'string' || !/^[a-zA-Z_:][\w:]*$/.test(prefix)) {
    throw argumentError(fn, 'prefix', 'the beginning of a metric name: letters, digits, _ and :', prefix);
  }
  const used = client ?? (peer(fn, 'prom-client') as PrometheusClient);
  const registry = register ?? used.register;
  if (typeof used?.Gauge !== 'function' || typeof used.Counter !== 'function')
    throw argumentError(fn, 'client', 'prom-client', client);
  if (typeof registry?.registerMetric !== 'function' || typeof registry.removeSingleMetric !== 'function')
    throw argumentError(fn, 'register', 'a registry of prom-client', registry);
  const metrics = new Metrics(used, registry, prefix);
  let watch: VerdictWatch | undefined;
  const end = () => {
    watch?.stop();
    metrics.remove();
  };
  try {
    addMemory(metrics);
    if (verdict !== false) {
      watch = new VerdictWatch(verdict === true ? {} : verdict);
      addVerdict(metrics, watch);
    }
  } catch (error) {
    end(); // such as a name that is taken: register all metrics or none
    throw error;
  }
  return exported(end);
}
