/** For each part of the recording: what was allocated in it and was still live at its end. */
import type { Capture } from '../capture/capture';
import { deviceName } from '../capture/format';
import { IdMap } from '../capture/id-map';
import type { Lifetime } from '../capture/lifetime-counts';
import type { Series } from '../capture/records';

/** Captures with more live tensors have no ranges. */
const MAX_LIVE = 2 ** 20;
/** Upper bound of point numbers: three fit in one exact number. */
const RADIX = 256;

/** Key: point of birth, point from which it counts, first point at which it is gone, in base RADIX. */
type Counts = Map<number, { tensors: number; bytes: number }>;

export class Kept {
  private readonly places = new Map<string, Counts>();

  private constructor(private readonly ms: number[]) {}

  /** `ms`: the points. Undefined if the capture does not have every tensor. */
  static of(capture: Capture, ms: number[]): Kept | undefined {
    const { details, droppedDetail, ticks, start } = capture;
    const count = details.reduce((sum, { live }) => sum + live.size, 0);
    const isWhole =
      droppedDetail === 0 &&
      start?.mode !== 'counters' &&
      details.every(({ lifetimes }) => lifetimes?.isFull === false);
    if (!isWhole || count > MAX_LIVE || (count === 0 && (ticks.at(-1)?.tensors ?? 0) > 0)) return undefined;
    const kept = new Kept(ms);
    for (const { live, lifetimes, siteId, startMs } of details) {
      const known = new IdMap<Counts>();
      const countsOf = (place: number) => {
        let counts = known.get(place);
        if (counts === undefined) {
          const [type, index] = [((place & 0xff) << 24) >> 24, ((place & 0xff00) << 16) >> 24];
          counts = kept.countsOf(`${siteId(Math.floor(place / 0x10000))} ${deviceName(type, index)}`);
          known.set(place, counts);
        }
        return counts;
      };
      for (const one of lifetimes!) kept.add(countsOf(one.place), one, startMs);
      for (let row = 0; row < live.size; row++) {
        for (const one of lifetimes!.live(live.at(row))) kept.add(countsOf(one.place), one, startMs);
      }
    }
    return kept;
  }

  /** The number of entries of all sites. */
  get size(): number {
    let size = 0;
    for (const counts of this.places.values()) size += counts.size;
    return size;
  }

  /** Flat rows: point of birth, point from which they count, first point at which they are gone, tensors, bytes. */
  rowsOf(all: Series[]): number[] {
    const sums: Counts = new Map();
    for (const key of new Set(all.map(({ siteId, device }) => `${siteId} ${device}`))) {
      for (const [times, { tensors, bytes }] of this.places.get(key) ?? []) add(sums, times, tensors, bytes);
    }
    return [...sums].flatMap(([times, { tensors, bytes }]) => [
      Math.floor(times / RADIX ** 2),
      Math.floor(times / RADIX) % RADIX,
      times % RADIX,
      Math.round(tensors),
      Math.round(bytes),
    ]);
  }

  /** `key`: site and device. */
  private countsOf(key: string): Counts {
    let counts = this.places.get(key);
    if (counts === undefined) {
      counts = new Map();
      this.places.set(key, counts);
    }
    return counts;
  }

  private add(counts: Counts, { bornMs, fromMs, diedMs, tensors, bytes }: Lifetime, startMs: number): void {
    const born = firstFrom(this.ms, startMs + bornMs);
    const from = fromMs === bornMs ? born : firstFrom(this.ms, startMs + fromMs);
    const died = firstFrom(this.ms, startMs + diedMs);
    if (from >= died) return; // at no point live
    add(counts, (born * RADIX + from) * RADIX + died, tensors, bytes);
  }
}

function add(counts: Counts, times: number, tensors: number, bytes: number): void {
  const known = counts.get(times);
  if (known === undefined) counts.set(times, { tensors, bytes });
  else {
    known.tensors += tensors;
    known.bytes += bytes;
  }
}

/** The first point at or after `ms`; their number if there is none. */
function firstFrom(points: number[], ms: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
