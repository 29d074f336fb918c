/** A capture that grows, with those that `run --follow-children` lets its children write next to it. */
import type { Capture } from '../capture/capture';
import { childrenOf } from '../capture/join';
import { CaptureFollower } from '../capture/reader';
import { condense } from '../condense';

/** Each takes a file descriptor while it runs. */
const MAX_READ = 256;

interface Child {
  pid: number;
  /** Undefined while it cannot be read. */
  follower: CaptureFollower | undefined;
}

export class Family {
  /** Children that run, by file. */
  private readonly running = new Map<string, Child>();
  private readonly over = new Set<string>();

  constructor(private readonly own: CaptureFollower) {}

  /**
   * The captures of the children that run now, as they are after this look; `ended` is told each that ran no more. Those
   * whose files cannot be read are counted.
   */
  look(ended: (capture: Capture) => void = () => {}): { running: Capture[]; unread: number } {
    const { parts, capture } = this.own;
    // Once the children are joined, and where the process was attached to, the file is all.
    const alone = parts.length > 1 || capture.start === undefined || capture.start.attached === true;
    for (const { file, pid } of alone ? [] : this.found()) {
      if (!this.over.has(file) && !this.running.has(file)) this.running.set(file, { pid, follower: undefined });
    }
    const running: Capture[] = [];
    let unread = 0;
    for (const [file, child] of this.running) {
      let captured = running.length < MAX_READ || child.follower !== undefined ? this.read(file, child) : undefined;
      const isGone = hasEnded(captured?.start?.pid ?? child.pid);
      if (isGone && captured !== undefined) captured = this.read(file, child); // what it wrote last may have come since
      const { start, end } = captured ?? {};
      const others = start !== undefined && isBefore(start.clockMs, capture.start?.clockMs); // an earlier run's
      if (alone || others || end !== undefined || isGone) {
        if (captured?.start !== undefined && !alone && !others) ended(captured);
        child.follower?.close();
        this.running.delete(file);
        this.over.add(file);
      } else if (captured === undefined || captured.ticks.length === 0) unread++;
      else running.push(captured);
    }
    return { running, unread };
  }

  /** Lets go of the children's files. */
  close(): void {
    for (const { follower } of this.running.values()) follower?.close();
    this.running.clear();
  }

  private found(): { file: string; pid: number }[] {
    try {
      return childrenOf(this.own.file);
    } catch {
      return []; // a folder that may not be listed
    }
  }

  /** Undefined where it cannot be read: another user's, no capture (yet), or too many files are open. */
  private read(file: string, child: Child): Capture | undefined {
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

/** Only what is surely gone: it may be another user's, or run elsewhere. */
export function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
