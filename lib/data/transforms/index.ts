/** torch.utils.data.transforms: changes of images that training needs, after torchvision. */
export { CenterCrop } from './center-crop';
export { ColorJitter, type ColorJitterOptions, type Jitter } from './color-jitter';
export { Compose, type Step } from './compose';
export type { Size } from './geometry';
export type { Transform } from './image';
export { Normalize } from './normalize';
export type { Drawing } from './random';
export { RandomCrop, type RandomCropOptions } from './random-crop';
export { RandomHorizontalFlip } from './random-horizontal-flip';
export { Resize, type ResizeOptions } from './resize';
export { type RawImage, ToTensor } from './to-tensor';
