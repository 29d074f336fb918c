/** Sources of `live`: a growing capture, or a running process. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import { Connection, Refusal } from '../attach/connection';
import { askSnapshot } from '../attach/snapshot';
import type { Capture } from '../capture/capture';
import { condense } from '../capture/condense';
import { FollowedChildren, hasEnded } from '../capture/followed-children';
import { CaptureFollower, withFileName } from '../capture/reader';
import { reserveForLive } from '../capture/reserve';
import { SourceMaps } from '../code/source-maps';
import { UsageError } from '../errors/errors';
import { nearName } from '../terminal/size';
import { type LiveState, stateOf, sumOf, withoutLive } from './state';

export interface LiveSource {
  title: string;
  /** Undefined while there is no data. */
  look(): Promise<LiveState | undefined>;
  /** Why no more data will come; undefined while it may. */
  readonly ended: string | undefined;
  /** Why no data came for a while; undefined if it did. */
  readonly stalled: string | undefined;
  close(): Promise<void>;
}

export async function openSource(what: string): Promise<LiveSource> {
  if (what === '') throw new UsageError("expected a process id or a file, got ''");
  return /^\d+$/.test(what) ? ProcessSource.open(what) : new FileSource(what);
}

/** Rounds are written at least once a second. */
const TIMEOUT_MS = 5000;

export class FileSource implements LiveSource {
  ended: string | undefined;
  private readonly follower: CaptureFollower;
  private readonly children: FollowedChildren;
  private readonly maps = new SourceMaps();
  /** Totals of children that have ended. */
  private gone: LiveState | undefined;
  /** The time of the last round, and when it was first read. */
  private came = -1;
  private cameAt = performance.now();

  constructor(
    private readonly file: string,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {
    this.follower = new CaptureFollower(file);
    this.children = new FollowedChildren(this.follower);
    this.poll();
    const { start, lostFlag } = this.follower.capture;
    if (start === undefined && !this.follower.unclaimed && !lostFlag)
      throw new UsageError(`${file}: not a leak-audit capture (empty or truncated)`);
  }

  get title(): string {
    return nearName(this.file);
  }

  get stalled(): string | undefined {
    const { capture } = this.follower;
    if (this.ended !== undefined || performance.now() - this.cameAt < this.timeoutMs) return undefined;
    if (capture.start === undefined) return 'no process has written to the capture yet';
    const silent = `process ${capture.start.pid} does not write`;
    return `${silent}: it is stopped, or it is a different process and the file is a copy or truncated`;
  }

  async look(): Promise<LiveState | undefined> {
    this.poll();
    const { start, end } = this.follower.capture;
    const isGone = end === undefined && start !== undefined && hasEnded(start.pid);
    if (isGone) this.poll(); // what it wrote last may have come since
    const { capture, parts } = this.follower;
    const rounds = capture.ticks.at(-1)?.ms ?? -1;
    if (rounds !== this.came) this.cameAt = performance.now();
    this.came = rounds;
    for (const part of parts) condense(part);
    if (capture.end !== undefined) this.ended = `the recording has ended (${capture.end.reason})`;
    else if (isGone) this.ended = 'the process has ended';
    const own = stateOf(capture, this.maps);
    if (own === undefined) return undefined;
    const joined = parts.slice(1).flatMap((part) => this.madeIn(part));
    const { running, unread } = this.children.read((ended) => {
      const states = [...(this.gone === undefined ? [] : [this.gone]), ...this.madeIn(ended)];
      if (isSome(states)) this.gone = sumOf(states);
    });
    const others = joined.length > 0 || this.gone === undefined ? joined : [this.gone];
    return { ...sumOf([own, ...others, ...running.flatMap((child) => stateOf(child, this.maps) ?? [])]), unread };
  }

  async close(): Promise<void> {
    this.children.close();
    this.follower.close();
  }

  private madeIn(child: Capture): LiveState[] {
    const state = stateOf(child, this.maps);
    return state === undefined ? [] : [withoutLive(state)];
  }

  private poll(): void {
    withFileName(this.file, () => {
      if (!this.follower.poll()) throw new UsageError('no such file');
    });
  }
}

const isSome = <T>(all: T[]): all is [T, ...T[]] => all.length > 0;

/** Small: the capture is not read, because the figures come from `snapshot`. */
const MAX_BYTES = 1024 * 1024;

class ProcessSource implements LiveSource {
  ended: string | undefined;
  /** Never set: a process answers, or the connection is closed. */
  readonly stalled = undefined;

  private constructor(
    private readonly connection: Connection,
    /** The folder of the unread capture; undefined if another command records the process. */
    private readonly folder: string | undefined,
  ) {
    void connection.ended.then(() => {
      this.ended = this.ended ?? `process ${connection.pid} has ended or was detached`;
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
    return `process ${this.connection.pid}${this.folder === undefined ? ', recorded by another command' : ''}`;
  }

  async look(): Promise<LiveState | undefined> {
    if (this.ended !== undefined) return undefined;
    try {
      const { snapshot, complete } = await askSnapshot(this.connection);
      const { sites, ms, mode, made } = snapshot;
      if (mode === null) {
        this.ended = `the recording of process ${this.connection.pid} has ended`;
        return undefined;
      }
      const state = { ...snapshot, ms: ms ?? 0, mode, sites: sites ?? [], made: made ?? null };
      return { ...state, complete, processes: 1, unread: 0 };
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

/** Starts a recording. Returns the folder of its capture. */
async function record(connection: Connection): Promise<string> {
  const { folder, file, fd } = reserveForLive(os.tmpdir());
  try {
    try {
      const settings = { fd, path: file, mode: 'full', interval: 1000 };
      await connection.ask('attach', { ...settings, max: MAX_BYTES }).catch((error) => {
        // The process sees another file system, in which it cannot replace this file by a smaller one.
        if (error instanceof Refusal && error.reason.startsWith('--max-size'))
          return connection.ask('attach', settings);
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
