/** torch.amp: training in mixed precision. Python's torch/amp. */
export { GradScaler, type GradScalerOptions, type GradScalerState, type Scalable } from './grad-scaler';
