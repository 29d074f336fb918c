/** `torch.audit`. */
export { type LabelValue, label } from './label';
export { mark } from './mark';
