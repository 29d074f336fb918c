/** A growing capture and those of the children, which `run --follow-children` puts next to it. */
import type { Capture } from './capture';
import { condense } from './condense';
import { childrenOf } from './join';
import { CaptureFollower } from './reader';

/** Each followed child takes a file descriptor. */
const MAX_READ = 256;

interface Child {
  pid: number;
  /** Undefined while the file cannot be read. */
  follower: CaptureFollower | undefined;
}

export class FollowedChildren {
  /** Running children by file. */
  private readonly running = new Map<string, Child>();
  private readonly ended = new Set<string>();

  constructor(private readonly own: CaptureFollower) {}

  /**
   * Reads the captures of the running children. `ended` is called with each child that has ended; children whose files
   * cannot be read are counted in `unread`.
   */
  read(ended: (capture: Capture) => void = () => {}): { running: Capture[]; unread: number } {
    const { parts, capture } = this.own;
    // After joining, and in captures of `attach`, there are no files of children.
    const hasNoFiles = parts.length > 1 || capture.start === undefined || capture.start.attached === true;
    for (const { file, pid } of hasNoFiles ? [] : this.found()) {
      if (!this.ended.has(file) && !this.running.has(file)) this.running.set(file, { pid, follower: undefined });
    }
    const running: Capture[] = [];
    let unread = 0;
    for (const [file, child] of this.running) {
      let captured = running.length < MAX_READ || child.follower !== undefined ? this.readOne(file, child) : undefined;
      const isGone = hasEnded(captured?.start?.pid ?? child.pid);
      if (isGone && captured !== undefined) captured = this.readOne(file, child); // it may have written since
      const { start, end } = captured ?? {};
      const isOfEarlierRun = start !== undefined && isBefore(start.clockMs, capture.start?.clockMs);
      if (hasNoFiles || isOfEarlierRun || end !== undefined || isGone) {
        if (captured?.start !== undefined && !hasNoFiles && !isOfEarlierRun) ended(captured);
        child.follower?.close();
        this.running.delete(file);
        this.ended.add(file);
      } else if (captured === undefined || captured.ticks.length === 0) unread++;
      else running.push(captured);
    }
    return { running, unread };
  }

  /** Closes the children's files. */
  close(): void {
    for (const { follower } of this.running.values()) follower?.close();
    this.running.clear();
  }

  private found(): { file: string; pid: number }[] {
    try {
      return childrenOf(this.own.file);
    } catch {
      return []; // the folder cannot be listed
    }
  }

  /** Undefined if it cannot be read: no permission, not a capture (yet), or too many open files. */
  private readOne(file: string, child: Child): Capture | undefined {
    const follower = child.follower ?? new CaptureFollower(file);
    try {
      if (!follower.poll()) return undefined;
    } catch {
      follower.close();
      child.follower = undefined;
      return undefined;
    }
    child.follower = follower;
    condense(follower.capture);
    return follower.capture.start === undefined ? undefined : follower.capture;
  }
}

const isBefore = (clockMs: number | undefined, than: number | undefined) =>
  clockMs !== undefined && than !== undefined && clockMs < than;

/** True only if the process certainly does not exist; it may belong to another user or run elsewhere. */
export function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
