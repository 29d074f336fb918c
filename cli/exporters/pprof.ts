/** pprof's profile.proto, gzipped, for `go tool pprof`, speedscope, Grafana Pyroscope and Google's profilers. */
import { gzipSync } from 'node:zlib';
import type { Frame } from '../capture/capture';
import type { Summary } from '../report';
import { functionName, type StackTotals } from '../stacks';
import { Message } from './protobuf';

/** The names of Go's heap profiles, which tools know, and growth. */
const SAMPLE_TYPES: { type: string; unit: string; of: (stack: StackTotals) => number }[] = [
  { type: 'alloc_objects', unit: 'count', of: (stack) => stack.allocatedTensors },
  { type: 'alloc_space', unit: 'bytes', of: (stack) => stack.allocatedBytes },
  { type: 'growth_objects', unit: 'count', of: (stack) => stack.grownTensors },
  { type: 'growth_space', unit: 'bytes', of: (stack) => stack.grownBytes },
  { type: 'inuse_objects', unit: 'count', of: (stack) => stack.liveTensors },
  { type: 'inuse_space', unit: 'bytes', of: (stack) => stack.liveBytes },
];
const DEFAULT_SAMPLE_TYPE = 'inuse_space';
const NANOSECONDS = 1_000_000n;

/** Field numbers of profile.proto. */
const PROFILE = {
  sampleType: 1,
  sample: 2,
  location: 4,
  function: 5,
  string: 6,
  timeNanos: 9,
  durationNanos: 10,
  periodType: 11,
  period: 12,
  comment: 13,
  defaultSampleType: 14,
};
const VALUE_TYPE = { type: 1, unit: 2 };
const SAMPLE = { locationId: 1, value: 2 };
const LOCATION = { id: 1, line: 4 };
const LINE = { functionId: 1, line: 2, column: 3 };
const FUNCTION = { id: 1, name: 2, systemName: 3, filename: 4 };

/** Numbers values from `first` on, in the order of their first use. */
class Numbers<T> {
  readonly all = new Map<string, { id: number; value: T }>();

  constructor(private readonly first: number) {}

  of(key: string, value: T): number {
    let entry = this.all.get(key);
    if (entry === undefined) {
      entry = { id: this.all.size + this.first, value };
      this.all.set(key, entry);
    }
    return entry.id;
  }
}

export function renderPprof(stacks: StackTotals[], summary: Summary): Buffer {
  const strings = new Numbers<string>(0);
  const functions = new Numbers<Frame>(1);
  const locations = new Numbers<Frame>(1);
  const string = (text: string) => strings.of(text, text);
  const valueType = (type: string, unit: string) =>
    new Message().int(VALUE_TYPE.type, string(type)).int(VALUE_TYPE.unit, string(unit));
  const functionOf = (frame: Frame) => functions.of(`${frame.function}\0${frame.file}`, frame);
  const locationOf = (frame: Frame) => locations.of(`${functionOf(frame)} ${frame.line} ${frame.column}`, frame);

  string('');
  const profile = new Message();
  for (const { type, unit } of SAMPLE_TYPES) profile.message(PROFILE.sampleType, valueType(type, unit));
  for (const stack of stacks) {
    const sample = new Message().ints(SAMPLE.locationId, stack.frames.map(locationOf)).ints(
      SAMPLE.value,
      SAMPLE_TYPES.map(({ of }) => Math.round(of(stack))),
    );
    profile.message(PROFILE.sample, sample);
  }
  for (const { id, value: frame } of locations.all.values()) {
    const line = new Message()
      .int(LINE.functionId, functionOf(frame))
      .int(LINE.line, frame.line)
      .int(LINE.column, frame.column);
    profile.message(PROFILE.location, new Message().int(LOCATION.id, id).message(LOCATION.line, line));
  }
  for (const { id, value: frame } of functions.all.values()) {
    const name = string(functionName(frame));
    profile.message(
      PROFILE.function,
      new Message()
        .int(FUNCTION.id, id)
        .int(FUNCTION.name, name)
        .int(FUNCTION.systemName, name)
        .int(FUNCTION.filename, string(frame.file)),
    );
  }
  profile
    .int(PROFILE.timeNanos, BigInt(Math.round(summary.startedAt ?? 0)) * NANOSECONDS)
    .int(PROFILE.durationNanos, BigInt(Math.round(summary.durationMs)) * NANOSECONDS)
    .message(PROFILE.periodType, valueType('space', 'bytes'))
    .int(PROFILE.period, 1)
    .ints(PROFILE.comment, [string(`leak-audit: ${summary.command}`)])
    .int(PROFILE.defaultSampleType, string(DEFAULT_SAMPLE_TYPE));
  for (const text of strings.all.keys()) profile.text(PROFILE.string, text);
  return gzipSync(profile.encode());
}
