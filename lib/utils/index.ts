/** torch.utils. */
export * as checkpoint from './checkpoint';
export { assertFinite } from './finite';
