/** Tensors that wait for a collection are not held. */
import type { Evidence } from './evidence';
import { least } from './statistics/trend';
import { steady } from './steady';
import type { Judgement, SiteHistory } from './verdict';

const MAX_FEW_TENSORS = 3;

export const garbage = (evidence: Evidence): Judgement | undefined =>
  isGarbage(evidence.history, evidence.ms) && !evidence.tensorsGrow ? steady(evidence) : undefined;

/**
 * Many tensors of which none is old, or none survived the last full collection, are garbage, however fast they accumulate.
 * A few young ones may be repeatedly replaced by larger ones, which is a leak; see Evidence.tensorsGrow.
 */
function isGarbage(history: SiteHistory, ms: number[]): boolean {
  const lastThird = ms[0]! + ((ms.at(-1)! - ms[0]!) * 2) / 3;
  const recent = history.liveTensors.slice(-Math.ceil(ms.length / 4));
  const young = Math.min(lastThird, history.lastCollectionMs ?? lastThird);
  return least(recent) > MAX_FEW_TENSORS && (history.oldestBirthMs ?? 0) > young;
}
