/** `libtorch-node/pprof`: a pprof profile of the live tensors over HTTP, for `go tool pprof`, Grafana Pyroscope and Parca. */
import '../addon/disposal';

export { handler, type PprofHandler, type PprofOptions, type PprofRequest, type PprofResponse } from './handler';
