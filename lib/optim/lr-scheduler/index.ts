/** torch.optim.lrScheduler: schedules of the learning rate. */
export type { Given } from './arguments';
export {
  ChainedScheduler,
  ReduceLROnPlateau,
  type ReduceLROnPlateauOptions,
  SequentialLR,
  type SequentialLROptions,
} from './compound';
export {
  CosineAnnealingLR,
  type CosineAnnealingLROptions,
  CosineAnnealingWarmRestarts,
  type CosineAnnealingWarmRestartsOptions,
} from './cosine';
export { CyclicLR, type CyclicLROptions, OneCycleLR, type OneCycleLROptions, type PerGroup } from './cycles';
export { LRScheduler, type Scheduler, type SchedulerStateDict } from './scheduler';
export {
  ConstantLR,
  type ConstantLROptions,
  ExponentialLR,
  type ExponentialLROptions,
  type LambdaArgs,
  LambdaLR,
  type LambdaLROptions,
  LinearLR,
  type LinearLROptions,
  type LrLambda,
  MultiplicativeLR,
  MultiStepLR,
  type MultiStepLROptions,
  PolynomialLR,
  type PolynomialLROptions,
  StepLR,
  type StepLROptions,
} from './simple';
