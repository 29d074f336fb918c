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
  const read = oneReading();
  const names: string[] = [];
  let watch: VerdictWatch | undefined;
  const common = ({ prometheus, help }: Pick<DeviceFigure, 'prometheus' | 'help'>) => {
    const name = prefix + prometheus;
    return { name, help: `${help}.`, registers: [registry] };
  };
  const gauge = (
    figure: Pick<DeviceFigure, 'prometheus' | 'help'>,
    labelNames: string[],
    collect: (gauge: Gauge) => void,
  ) =>
    new used.Gauge({
      ...common(figure),
      labelNames,
      collect(this: Gauge) {
        this.reset(); // removes values of missing devices and of a lifted limit
        collect(this);
      },
    });
  const end = () => {
    watch?.stop();
    for (const name of names) registry.removeSingleMetric(name);
  };
  try {
    for (const figure of deviceFigures) {
      gauge(figure, [DEVICE_LABEL], (metric) => {
        for (const [device, totals] of Object.entries(read().devices)) {
          metric.set({ [DEVICE_LABEL]: device }, totals[figure.of]);
        }
      });
      names.push(prefix + figure.prometheus);
    }
    for (const figure of processFigures) {
      if (figure.kind === 'counter') {
        new used.Counter({
          ...common(figure),
          collect(this: Counter) {
            this.reset();
            this.inc(figure.read() ?? 0);
          },
        });
      } else {
        gauge(figure, [], (metric) => {
          const value = figure.read();
          if (value === null) metric.remove();
          else metric.set(value);
        });
      }
      names.push(prefix + figure.prometheus);
    }
    if (verdict !== false) {
      watch = new VerdictWatch(verdict === true ? {} : verdict);
      const judged = watch;
      gauge(VERDICT, ['verdict'], (metric) => {
        const { latest } = judged;
        if (latest === undefined) return;
        for (const one of VERDICTS) metric.set({ verdict: one }, one === latest.verdict ? 1 : 0);
      });
      names.push(prefix + VERDICT.prometheus);
      gauge(LEAK_RATE, ['site', 'function'], (metric) => {
        for (const { site, function: name, bytesPerMinute } of judged.latest?.leaks ?? []) {
          metric.set({ site, function: name }, bytesPerMinute);
        }
      });
      names.push(prefix + LEAK_RATE.prometheus);
      gauge(JUDGED_AT, [], (metric) => {
        if (judged.latest === undefined) metric.remove();
        else metric.set(judged.latest.at / 1000);
      });
      names.push(prefix + JUDGED_AT.prometheus);
      new used.Counter({
        ...common(JUDGEMENTS),
        labelNames: ['outcome'],
        collect(this: Counter) {
          this.reset();
          for (const [outcome, times] of Object.entries(judged.judgements)) this.inc({ outcome }, times);
        },
      });
      names.push(prefix + JUDGEMENTS.prometheus);
    }
  } catch (error) {
    end(); // such as a name that is taken: register all metrics or none
    throw error;
  }
  return exported(end);
}
