/** The living tensors one by one, where a capture holds them: not in `counters` mode. */
import type { Capture, LivingTensor } from '../capture/capture';
import { deviceMatches } from '../sites';

/** Undefined where the capture says nothing about single tensors. Made anew for each walk: there may be millions. */
export function livingOf(capture: Capture, device?: string): (() => Iterable<LivingTensor>) | undefined {
  if (capture.livingTensors().next().done) return undefined;
  return function* () {
    for (const tensor of capture.livingTensors()) if (deviceMatches(tensor.device, device)) yield tensor;
  };
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
