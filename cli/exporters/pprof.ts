/** A capture as a profile, gzipped, for `go tool pprof`, speedscope, Grafana Pyroscope and Google's profilers. */
import { gzipSync } from 'node:zlib';
import { encodeProfile } from '../../lib/pprof/profile';
import type { Summary } from '../analysis/report';
import { functionName, type StackTotals } from '../analysis/stacks';
import type { Format } from './format';

/** The names of Go's heap profiles, which tools know, and growth. */
const SAMPLE_TYPES: { type: string; unit: string; of: (stack: StackTotals) => number }[] = [
  { type: 'alloc_objects', unit: 'count', of: (stack) => stack.allocatedTensors },
  { type: 'alloc_space', unit: 'bytes', of: (stack) => stack.allocatedBytes },
  { type: 'growth_objects', unit: 'count', of: (stack) => stack.grownTensors },
  { type: 'growth_space', unit: 'bytes', of: (stack) => stack.grownBytes },
  { type: 'inuse_objects', unit: 'count', of: (stack) => stack.liveTensors },
  { type: 'inuse_space', unit: 'bytes', of: (stack) => stack.liveBytes },
];

export function renderPprof(stacks: StackTotals[], summary: Summary): Buffer {
  const head = {
    sampleTypes: SAMPLE_TYPES,
    defaultSampleType: 'inuse_space',
    startedAt: summary.startedAt ?? 0,
    durationMs: summary.durationMs,
    comment: `leak-audit: ${summary.command}`,
  };
  const samples = stacks.map((stack) => ({
    frames: stack.frames.map((frame) => ({ ...frame, function: functionName(frame) })),
    values: SAMPLE_TYPES.map(({ of }) => of(stack)),
  }));
  return gzipSync(encodeProfile(head, samples));
}

export const pprof: Format = {
  name: 'pprof',
  description: "pprof's profile.proto, gzipped: live, allocated and grown tensors and bytes by stack",
  render: ({ stacks, report }) => renderPprof(stacks, report.summary),
};
