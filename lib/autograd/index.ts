/** torch.autograd. */
export {
  type AnomalyOptions,
  detectAnomaly,
  isAnomalyCheckNanEnabled,
  isAnomalyEnabled,
  setDetectAnomaly,
} from './anomaly';
export { AutogradFunction as Function, FunctionContext, onceDifferentiable } from './function';
export * as functional from './functional';
export { type BackwardManyOptions, backward, type GradArgs, type GradOptions, grad, type UsedOptions } from './grad';
export { type GradcheckOptions, gradcheck, gradgradcheck } from './gradcheck';
export type { GradientHook, HookHandle } from './hooks';
export type { Tensors } from './lists';
