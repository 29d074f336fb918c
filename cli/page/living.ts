/** The living tensors one by one, where a capture holds them. Captures of format 1 hold counters only. */
import type { Capture } from '../capture/capture';
import { deviceMatches } from '../sites';

export interface LivingTensor {
  siteId: number;
  device: string;
  dtype: string;
  /** Undefined where it is not known. */
  shape: readonly number[] | undefined;
  /** ms since the capture's start; negative when it is older. */
  birthMs: number;
  /** Of its storage; tensors with an equal `storage` share them. */
  bytes: number;
  storage: number;
  isView: boolean;
  /** How many tensors it stands for (`sample` mode). */
  weight: number;
  process?: number;
}

interface Detailed {
  livingTensors(): Iterable<LivingTensor>;
}

const hasDetail = (capture: object): capture is Detailed => 'livingTensors' in capture;

/** Undefined where the capture says nothing about single tensors. Made anew for each walk: there may be millions. */
export function livingOf(capture: Capture, device?: string): (() => Iterable<LivingTensor>) | undefined {
  if (!hasDetail(capture)) return undefined;
  for (const _ of capture.livingTensors()) {
    return function* () {
      for (const tensor of capture.livingTensors()) if (deviceMatches(tensor.device, device)) yield tensor;
    };
  }
  return undefined;
}

/** The oldest ones, the oldest first. */
export function oldestOf(living: Iterable<LivingTensor>, most: number): LivingTensor[] {
  const oldest: LivingTensor[] = [];
  for (const tensor of living) {
    if (oldest.length === most && tensor.birthMs >= oldest[most - 1]!.birthMs) continue;
    let at = oldest.length;
    while (at > 0 && oldest[at - 1]!.birthMs > tensor.birthMs) at--;
    oldest.splice(at, 0, tensor);
    if (oldest.length > most) oldest.pop();
  }
  return oldest;
}
