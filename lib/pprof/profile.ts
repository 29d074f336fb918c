/** pprof's profile.proto. `leak-audit export --pprof` and `libtorch-node/pprof` write it. No dependencies. */
import { Message } from './protobuf';

/** A position of a stack. `function` is the name to show. */
export interface ProfileFrame {
  file: string;
  line: number;
  column: number;
  function: string;
}

export interface ProfileSample {
  /** Innermost first. */
  frames: readonly ProfileFrame[];
  /** One per sample type. */
  values: readonly number[];
  labels?: Readonly<Record<string, string>>;
}

export interface ProfileHead {
  sampleTypes: readonly { type: string; unit: string }[];
  defaultSampleType: string;
  /** ms since 1970. */
  startedAt: number;
  durationMs: number;
  comment: string;
}

const NANOSECONDS = 1_000_000n;

/** Field numbers of profile.proto. */
const PROFILE = {
  sampleType: 1,
  sample: 2,
  mapping: 3,
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
const SAMPLE = { locationId: 1, value: 2, label: 3 };
const LABEL = { key: 1, text: 2 };
const MAPPING = { id: 1, filename: 5, hasFunctions: 7, hasFilenames: 8, hasLineNumbers: 9 };
const LOCATION = { id: 1, mappingId: 2, line: 4 };
const LINE = { functionId: 1, line: 2, column: 3 };
const FUNCTION = { id: 1, name: 2, systemName: 3, filename: 4 };

/** The only mapping: it says that the names are there, so that tools do not look for symbols. */
const MAPPING_ID = 1;

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

/** The profile, not compressed. */
export function encodeProfile(head: ProfileHead, samples: Iterable<ProfileSample>): Uint8Array {
  const strings = new Numbers<string>(0);
  const functions = new Numbers<ProfileFrame>(1);
  const locations = new Numbers<ProfileFrame>(1);
  const string = (text: string) => strings.of(text, text);
  const valueType = (type: string, unit: string) =>
    new Message().int(VALUE_TYPE.type, string(type)).int(VALUE_TYPE.unit, string(unit));
  const functionOf = (frame: ProfileFrame) => functions.of(`${frame.function}\0${frame.file}`, frame);
  const locationOf = (frame: ProfileFrame) => locations.of(`${functionOf(frame)} ${frame.line} ${frame.column}`, frame);

  string('');
  const profile = new Message();
  for (const { type, unit } of head.sampleTypes) profile.message(PROFILE.sampleType, valueType(type, unit));
  for (const { frames, values, labels = {} } of samples) {
    const sample = new Message()
      .ints(SAMPLE.locationId, frames.map(locationOf))
      .ints(SAMPLE.value, values.map(Math.round));
    for (const [key, text] of Object.entries(labels)) {
      sample.message(SAMPLE.label, new Message().int(LABEL.key, string(key)).int(LABEL.text, string(text)));
    }
    profile.message(PROFILE.sample, sample);
  }
  profile.message(
    PROFILE.mapping,
    new Message()
      .int(MAPPING.id, MAPPING_ID)
      .int(MAPPING.filename, string('node'))
      .int(MAPPING.hasFunctions, 1)
      .int(MAPPING.hasFilenames, 1)
      .int(MAPPING.hasLineNumbers, 1),
  );
  for (const { id, value: frame } of locations.all.values()) {
    const line = new Message()
      .int(LINE.functionId, functionOf(frame))
      .int(LINE.line, frame.line)
      .int(LINE.column, frame.column);
    profile.message(
      PROFILE.location,
      new Message().int(LOCATION.id, id).int(LOCATION.mappingId, MAPPING_ID).message(LOCATION.line, line),
    );
  }
  for (const { id, value: frame } of functions.all.values()) {
    const name = string(frame.function);
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
    .int(PROFILE.timeNanos, BigInt(Math.round(head.startedAt)) * NANOSECONDS)
    .int(PROFILE.durationNanos, BigInt(Math.round(head.durationMs)) * NANOSECONDS)
    .message(PROFILE.periodType, valueType('space', 'bytes'))
    .int(PROFILE.period, 1)
    .ints(PROFILE.comment, [string(head.comment)])
    .int(PROFILE.defaultSampleType, string(head.defaultSampleType));
  for (const text of strings.all.keys()) profile.text(PROFILE.string, text);
  return profile.encode();
}
