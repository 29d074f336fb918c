/**
 * `libtorch-node/metrics`: what tensors and libtorch hold, for Prometheus and OpenTelemetry. The packages for them are the
 * program's own: neither is needed by the other, or by the rest of the library.
 */
import '../addon/disposal';

export {
  exportToOpenTelemetry,
  type OpenTelemetryMeter,
  type OpenTelemetryOptions,
  type OpenTelemetryResult,
} from './opentelemetry';
export {
  type Exported,
  exportToPrometheus,
  type PrometheusClient,
  type PrometheusMetric,
  type PrometheusOptions,
  type PrometheusRegistry,
} from './prometheus';
export type { VerdictOptions } from './verdict';
