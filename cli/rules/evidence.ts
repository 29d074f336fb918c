/** One series with what several rules need of it; computed when first asked for. */

import { theilSen } from './statistics/theil-sen';
import { FLAT, pickIndices, type Trend, trend, unproved } from './statistics/trend';
import type { Judgement, RuleOptions, SiteHistory } from './verdict';
import { warmupRounds } from './warmup';

/** Smaller growth is ignored, whatever the confidence. */
export const MIN_BYTES = 4096;
export const MIN_TENSORS = 8;
/** Tensors that became larger by this factor after warm-up count as growing. */
const GROWN = 1.5;
export const MINUTE = 60_000;

interface Trends {
  bytes: Trend;
  tensors: Trend;
  /** Bytes per tensor: if one tensor is repeatedly replaced by a larger one, which leaves garbage, the mean size rises. */
  sizes: Trend;
}

export class Evidence {
  readonly rounds: number;
  readonly warmup: number;
  private found: Trends | undefined;
  private indices: number[] | undefined;

  constructor(
    readonly history: SiteHistory,
    readonly options: RuleOptions,
    /** Judges another part of the series. */
    readonly judge: (history: SiteHistory, options: RuleOptions) => Judgement,
  ) {
    this.rounds = history.ms.length;
    this.warmup = warmupRounds(this.rounds, options);
  }

  /** Neither tensors nor bytes are live in the last round. */
  get isGone(): boolean {
    return (this.history.liveTensors.at(-1) ?? 0) === 0 && (this.history.liveBytes.at(-1) ?? 0) === 0;
  }

  /** The rounds after the warm-up, thinned out. */
  get picked(): number[] {
    this.indices ??= pickIndices(this.warmup, this.rounds);
    return this.indices;
  }

  /** The floor of later rounds is not proved by rounds after them: what is live may be freed in the next one. */
  get provedRounds(): number {
    return this.rounds - unproved(this.rounds - this.warmup);
  }

  get ms(): number[] {
    return this.picked.map((i) => this.history.ms[i]!);
  }

  get trends(): Trends {
    this.found ??= this.findTrends();
    return this.found;
  }

  get growth() {
    const { bytes, tensors, sizes } = this.trends;
    const rate = bytes.kind !== 'rising' && sizes.kind === 'rising' ? sizes : bytes;
    return {
      growthBytesPerMinute: rate.slope * MINUTE,
      lowBytesPerMinute: rate.low * MINUTE,
      highBytesPerMinute: rate.high * MINUTE,
      growthTensorsPerMinute: tensors.slope * MINUTE,
      p: 1,
    };
  }

  /** Whether the tensors become larger: bytes per tensor rise, however many of them are garbage. */
  get tensorsGrow(): boolean {
    const all = meanSizes(this.history);
    const sizes = this.picked.map((i) => all[i]!);
    return sizes.at(-1)! > GROWN * sizes[0]! && theilSen(this.ms, sizes).low > 0;
  }

  private findTrends(): Trends {
    const { history, options, picked, ms } = this;
    const work = history.work === undefined ? ms : picked.map((i) => history.work![i]!);
    const always = picked.every((i) => history.liveTensors[i]! >= 1);
    return {
      bytes: trend(ms, work, history.liveBytes, picked, options.minBytes ?? MIN_BYTES),
      tensors: trend(ms, work, history.liveTensors, picked, MIN_TENSORS),
      sizes: always && options.mixed !== true ? trend(ms, work, meanSizes(history), picked, MIN_BYTES) : FLAT,
    };
  }
}

const meanSizes = ({ liveBytes, liveTensors }: SiteHistory) =>
  liveBytes.map((bytes, i) => bytes / Math.max(1, liveTensors[i]!));
