/** torch.utils. */
export * as data from '../data';
export * as checkpoint from './checkpoint';
export { assertFinite } from './finite';
