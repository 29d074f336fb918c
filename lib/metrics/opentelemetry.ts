/** The figures for OpenTelemetry, through the program's @opentelemetry/api. Read when a reader collects, and never else. */

import { native } from '../native';
import { ownOptions } from '../options';
import { DEVICE_ATTRIBUTE, deviceFigures, processFigures } from './figures';
import { peer } from './peer';
import { type Exported, exported } from './prometheus';

interface InstrumentOptions {
  description: string;
  unit: string;
}

/** What observes values while a reader collects. */
export interface OpenTelemetryResult {
  observe(instrument: never, value: number, attributes?: Record<string, string>): void;
}

/** A meter of @opentelemetry/api, as far as it is used here. */
export interface OpenTelemetryMeter {
  createObservableGauge(name: string, options: InstrumentOptions): unknown;
  createObservableCounter(name: string, options: InstrumentOptions): unknown;
  createObservableUpDownCounter(name: string, options: InstrumentOptions): unknown;
  addBatchObservableCallback(callback: (result: OpenTelemetryResult) => void, instruments: never[]): void;
  removeBatchObservableCallback(callback: (result: OpenTelemetryResult) => void, instruments: never[]): void;
}

export interface OpenTelemetryOptions {
  /** Whose instruments they are (default: the meter 'libtorch-node' of the global provider of @opentelemetry/api). */
  meter?: OpenTelemetryMeter | undefined;
}

interface Api {
  readonly metrics: { getMeter(name: string, version?: string): OpenTelemetryMeter };
}

const { version } = require('../../../package.json') as { version: string };

/**
 * Exports what tensors and libtorch hold as OpenTelemetry's metrics. The names are in docs/metrics.md.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE where there is no @opentelemetry/api
 */
export function exportToOpenTelemetry(options: OpenTelemetryOptions = {}): Exported {
  const { meter } = ownOptions('exportToOpenTelemetry', options, ['meter']);
  const used =
    meter ?? (peer('exportToOpenTelemetry', '@opentelemetry/api') as Api).metrics.getMeter('libtorch-node', version);
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
