/** Totals per value of a label, for example per request route. */
import type { Capture } from './capture';

export interface LabelTotals {
  /** Undefined for tensors that were made without the label. */
  value: string | undefined;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
  /** The site with most live bytes, as in the capture (not through source maps). */
  siteId: number;
}

/** Most live bytes first; estimates in `sample` mode. */
export function byLabel(capture: Capture, name: string): LabelTotals[] {
  const totals = new Map<string | undefined, LabelTotals>();
  const most = new Map<string | undefined, number>();
  for (const series of capture.series.values()) {
    const labels = capture.labels.get(series.labelId);
    const value = labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
    let sum = totals.get(value);
    if (sum === undefined) {
      sum = { value, liveTensors: 0, liveBytes: 0, allocatedTensors: 0, allocatedBytes: 0, siteId: series.siteId };
      totals.set(value, sum);
    }
    const live = series.liveBytes.at(-1) ?? 0;
    sum.liveTensors += series.liveTensors.at(-1) ?? 0;
    sum.liveBytes += live;
    sum.allocatedTensors += series.allocatedTensors.at(-1) ?? 0;
    sum.allocatedBytes += series.allocatedBytes.at(-1) ?? 0;
    if (live > (most.get(value) ?? -1)) {
      most.set(value, live);
      sum.siteId = series.siteId;
    }
  }
  return [...totals.values()].sort((a, b) => b.liveBytes - a.liveBytes || b.allocatedBytes - a.allocatedBytes);
}

/** The names of all labels in a capture. */
export function labelNames(capture: Capture): string[] {
  const names = new Set<string>();
  for (const labels of capture.labels.values()) for (const name of Object.keys(labels)) names.add(name);
  return [...names].sort();
}
