/** The figures for OpenTelemetry, through the program's @opentelemetry/api. Read only when a reader collects. */

import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import { peer } from '../errors/peer';
import { DEVICE_ATTRIBUTE, deviceFigures, processFigures } from './figures';
import { type Exported, exported } from './prometheus';

interface InstrumentOptions {
  description: string;
  unit: string;
}

/** Observes values while a reader collects. */
export interface OpenTelemetryResult {
  observe(instrument: never, value: number, attributes?: Record<string, string>): void;
}

/** The part of a meter of @opentelemetry/api that is used here. */
export interface OpenTelemetryMeter {
  createObservableGauge(name: string, options: InstrumentOptions): unknown;
  createObservableCounter(name: string, options: InstrumentOptions): unknown;
  createObservableUpDownCounter(name: string, options: InstrumentOptions): unknown;
  addBatchObservableCallback(callback: (result: OpenTelemetryResult) => void, instruments: never[]): void;
  removeBatchObservableCallback(callback: (result: OpenTelemetryResult) => void, instruments: never[]): void;
}

export interface OpenTelemetryOptions {
  /** The meter of the instruments (default: the meter 'libtorch-node' of the global provider of @opentelemetry/api). */
  meter?: OpenTelemetryMeter | undefined;
}

interface Api {
  readonly metrics: { getMeter(name: string, version?: string): OpenTelemetryMeter };
}

const { version } = require('../../../package.json') as { version: string };

/**
 * Exports the memory of tensors and libtorch as OpenTelemetry metrics. The names are in docs/metrics.md.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE without @opentelemetry/api
 */
export function exportToOpenTelemetry(options: OpenTelemetryOptions = {}): Exported {
  const { meter } = ownOptions('exportToOpenTelemetry', options, ['meter']);
  const used =
    meter ?? (peer('exportToOpenTelemetry', '@opentelemetry/api') as Api).metrics.getMeter('libtorch-node', version);
  if (typeof used?.createObservableGauge !== 'function')
    throw argumentError('exportToOpenTelemetry', 'meter', 'a meter of @opentelemetry/api', meter);
  const create = {
    gauge: 'createObservableGauge',
    sum: 'createObservableUpDownCounter',
    counter: 'createObservableCounter',
  } as const;
  const instrument = ({ kind, openTelemetry, help, unit }: (typeof deviceFigures | typeof processFigures)[number]) =>
    used[create[kind]](openTelemetry, { description: `${help}.`, unit }) as never;
  const ofDevices = deviceFigures.map((figure) => ({ figure, instrument: instrument(figure) }));
  const ofProcess = processFigures.map((figure) => ({ figure, instrument: instrument(figure) }));
  const observe = (result: OpenTelemetryResult) => {
    for (const [device, totals] of Object.entries(native.memory().devices)) {
      for (const { figure, instrument } of ofDevices) {
        result.observe(instrument, totals[figure.of], { [DEVICE_ATTRIBUTE]: device });
      }
    }
    for (const { figure, instrument } of ofProcess) {
      const value = figure.read();
      if (value !== null) result.observe(instrument, value);
    }
  };
  const instruments = [...ofDevices, ...ofProcess].map(({ instrument }) => instrument);
  used.addBatchObservableCallback(observe, instruments);
  return exported(() => used.removeBatchObservableCallback(observe, instruments));
}
