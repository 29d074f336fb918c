/** Settings of libtorch for the process, and the state of its default random number generator. */
import { native } from '../addon/native';
import { define } from '../call/define';
import { demandThreads } from '../errors/values';
import { type Tensor, wrap } from '../tensor/tensor';
import { refuse } from './support';

const modes = ['default', 'warn', 'error'];
const precisions = ['highest', 'high', 'medium'];

function debugMode(): number {
  if (!native.isDeterministic()) return 0;
  return native.isDeterministicWarnOnly() ? 1 : 2;
}

function setDebugMode(mode: unknown): void {
  const level = typeof mode === 'string' ? modes.indexOf(mode) : mode;
  if (level !== 0 && level !== 1 && level !== 2) {
    throw refuse('setDeterministicDebugMode', 'debugMode', "0, 1, 2, 'default', 'warn' or 'error'", mode);
  }
  native.setDeterministic(level > 0, level === 1);
}

define([''], {
  areDeterministicAlgorithmsEnabled: () => native.isDeterministic(),
  isDeterministicAlgorithmsWarnOnlyEnabled: () => native.isDeterministicWarnOnly(),
  useDeterministicAlgorithms: (mode: boolean, warnOnly: boolean) => native.setDeterministic(mode, warnOnly),
  getDeterministicDebugMode: debugMode,
  setDeterministicDebugMode: setDebugMode,
  getFloat32MatmulPrecision: () => precisions[native.matmulPrecision()],
  setFloat32MatmulPrecision: (precision: string) => {
    if (!precisions.includes(precision)) {
      throw refuse('setFloat32MatmulPrecision', 'precision', "'highest', 'high' or 'medium'", precision);
    }
    native.setMatmulPrecision(precision);
  },
  getNumInteropThreads: () => native.getNumInteropThreads(),
  setNumInteropThreads: (count: number) => {
    demandThreads('setNumInteropThreads', 'count', count);
    native.setNumInteropThreads(count);
  },
  setFlushDenormal: (mode: boolean) => native.setFlushDenormal(mode),
  getRngState: () => wrap(native.rngState()),
  setRngState: (state: Tensor) => native.setRngState(state._handle),
  initialSeed: () => native.initialSeed(),
  seed: () => native.seed(),
});
