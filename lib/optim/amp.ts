/** torch.amp: training in mixed precision. Python's torch/amp. */
export { autocast } from '../autograd/autocast';
export { GradScaler, type GradScalerOptions, type GradScalerState, type Scalable } from './grad-scaler';
