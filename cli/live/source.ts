/** Where `live` looks: a capture that grows, or a running process. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Connection, Refusal } from '../attach/connection';
import { takeSnapshot } from '../attach/snapshot';
import type { Capture } from '../capture/capture';
import { CaptureFollower, withPlace } from '../capture/reader';
import { condense } from '../condense';
import { UsageError } from '../errors';
import { reserve, temporaryFolder } from '../run/reserve';
import { groupByPosition, lastOf } from '../sites';
import { SourceMaps } from '../sourcemaps';

export interface LiveSite {
  file: string;
  line: number;
  column: number;
  function: string;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
}

/** What is now. */
export interface LiveState {
  ms: number;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  rss: number;
  devices: { device: string; tensors: number; bytes: number }[];
  sites: LiveSite[];
  /** Made since the recording began; null where that is not recorded. */
  made: { tensors: number; bytes: number } | null;
  mode: string;
}

export interface LiveSource {
  title: string;
  /** Undefined while nothing is there yet. */
  look(): Promise<LiveState | undefined>;
  /** Why there will be no more; undefined while there may be. */
  readonly ended: string | undefined;
  close(): Promise<void>;
}

export const openSource = (what: string): Promise<LiveSource> =>
  /^\d+$/.test(what) ? ProcessSource.open(what) : Promise.resolve(new FileSource(what));

class FileSource implements LiveSource {
  ended: string | undefined;
  private readonly follower: CaptureFollower;
  private readonly maps = new SourceMaps();

  constructor(private readonly file: string) {
    this.follower = new CaptureFollower(file);
    this.poll();
    const { start, lostFlag } = this.follower.capture;
    if (start === undefined && !this.follower.unclaimed && !lostFlag)
      throw new UsageError(`${file}: not a leak-audit capture (it is empty or cut off)`);
  }

  get title(): string {
    return path.relative('', this.file);
  }

  async look(): Promise<LiveState | undefined> {
    this.poll();
    const { capture } = this.follower;
    condense(capture);
    if (capture.end !== undefined) this.ended = `the recording has ended (${capture.end.reason})`;
    else if (capture.start !== undefined && hasEnded(capture.start.pid)) this.ended = 'the process has ended';
    return stateOf(capture, this.maps);
  }

  async close(): Promise<void> {
    this.follower.close();
  }

  private poll(): void {
    withPlace(this.file, () => {
      if (!this.follower.poll()) throw new UsageError('no such file');
    });
  }
}

/** Only what is surely gone: it may be another user's, or run elsewhere. */
function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function stateOf(capture: Capture, maps: SourceMaps): LiveState | undefined {
  const tick = capture.ticks.at(-1);
  if (tick === undefined) return undefined;
  const all = [...capture.series.values()];
  const devices = new Map<string, { device: string; tensors: number; bytes: number }>();
  for (const series of all) {
    const sum = devices.get(series.device) ?? { device: series.device, tensors: 0, bytes: 0 };
    sum.tensors += series.liveTensors.at(-1) ?? 0;
    sum.bytes += series.liveBytes.at(-1) ?? 0;
    devices.set(series.device, sum);
  }
  const mode = capture.start?.mode ?? 'full';
  return {
    ...tick,
    mode,
    devices: [...devices.values()].sort((a, b) => (a.device < b.device ? -1 : 1)),
    sites: groupByPosition(capture, all, maps).map(({ frame, members }) => {
      const its = members.map(({ series }) => series);
      return {
        ...frame,
        liveTensors: lastOf(its, (series) => series.liveTensors),
        liveBytes: lastOf(its, (series) => series.liveBytes),
        allocatedTensors: lastOf(its, (series) => series.allocatedTensors),
        allocatedBytes: lastOf(its, (series) => series.allocatedBytes),
      };
    }),
    made:
      mode === 'counters'
        ? null
        : {
            tensors: lastOf(all, (series) => series.allocatedTensors),
            bytes: lastOf(all, (series) => series.allocatedBytes),
          },
  };
}

/** Enough: what is shown is asked for, not read. */
const MOST_BYTES = 1024 * 1024;

class ProcessSource implements LiveSource {
  ended: string | undefined;

  private constructor(
    private readonly connection: Connection,
    /** Of the capture that nobody reads; undefined where the process is recorded by another. */
    private readonly folder: string | undefined,
  ) {
    void connection.ended.then(() => {
      this.ended = this.ended ?? `process ${connection.pid} has ended, or was detached`;
    });
  }

  static async open(pid: string): Promise<LiveSource> {
    const connection = await Connection.open(pid);
    try {
      const { recording } = await connection.ask('status');
      return new ProcessSource(connection, recording === null ? await record(connection) : undefined);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get title(): string {
    return `process ${this.connection.pid}${this.folder === undefined ? ', recorded by another' : ''}`;
  }

  async look(): Promise<LiveState | undefined> {
    if (this.ended !== undefined) return undefined;
    try {
      const snapshot = await takeSnapshot(this.connection);
      const { sites, ms, mode, made } = snapshot;
      return { ...snapshot, ms: ms ?? 0, mode: mode ?? 'counters', sites: sites ?? [], made: made ?? null };
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.ended = error.message;
      return undefined;
    }
  }

  async close(): Promise<void> {
    if (this.folder !== undefined) {
      if (this.ended === undefined) await this.connection.ask('detach').catch(() => {}); // it may be gone by now
      fs.rmSync(this.folder, { recursive: true, force: true });
    }
    this.connection.close();
  }
}

/** Begins a recording; the folder of its capture. */
async function record(connection: Connection): Promise<string> {
  const folder = temporaryFolder(os.tmpdir());
  try {
    const file = path.join(folder, 'live.ltna');
    reserve(file);
    const fd = fs.openSync(file, 'r+');
    try {
      const wish = { fd, path: file, mode: 'full', interval: 1000 };
      await connection.ask('attach', { ...wish, max: MOST_BYTES }).catch((error) => {
        // The process has another view of the disk, where no smaller file can take this one's place.
        if (error instanceof Refusal && error.reason.startsWith('--max-size')) return connection.ask('attach', wish);
        throw error;
      });
    } finally {
      fs.closeSync(fd);
    }
    return folder;
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
