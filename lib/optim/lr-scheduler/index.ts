/** torch.optim.lrScheduler: schedules of the learning rate. */
export { ChainedScheduler, ReduceLROnPlateau, SequentialLR } from './compound';
export { CosineAnnealingLR, CosineAnnealingWarmRestarts } from './cosine';
export { CyclicLR, OneCycleLR } from './cycles';
export { LRScheduler, type SchedulerStateDict } from './scheduler';
export {
  ConstantLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  type LrLambda,
  MultiplicativeLR,
  MultiStepLR,
  PolynomialLR,
  StepLR,
} from './simple';
