/** torch.utils. */
export * as data from '../data';
export * as checkpoint from './checkpoint';
export { assertFinite } from './finite';
export { type NumberArrayConstructor, parseJSON } from './parse-json';
export { Progress, type ProgressFigures, type ProgressOptions, type ProgressOutput } from './progress';
