/**
 * `run --why`, while the program runs. At its end, the variables of code that has ended hold nothing any more, and a program
 * that is ended by a signal leaves no heap. So it is asked before: when its recording first shows a leak, and again each time that
 * it has run twice as long. Not earlier: the pause would take time from what the verdict is made of.
 */
import { analyse } from '../analysis/analyse';
import { Connection } from '../attach/connection';
import type { Capture } from '../capture/capture';
import { askWhy } from './ask';
import type { Answer } from './holder';

/** Before that, nothing can be told from warm-up. */
const FIRST_MS = 5_000;
/** Time between looks at the recording, at least. */
const PAUSE_MS = 1_000;
/** At most: a timer of more than 24.8 days would end at once. */
const MAX_PAUSE_MS = 3_600_000;
/** How much older a recording without a leak must be before it is judged again. */
const LATER = 1.25;

export class HeldWhileRunning {
  private answers: Answer[] | undefined;
  private connection: Connection | undefined;
  private asking: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  /** The age of the recording from which it is judged again. */
  private dueMs = FIRST_MS;

  /** @param captureNow the recording so far; undefined if it cannot be read */
  constructor(private readonly captureNow: () => Capture | undefined) {
    this.wait(PAUSE_MS);
  }

  /** Called when the program has ended: the last answers, if there were any. */
  async stop(): Promise<Answer[] | undefined> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.connection?.close();
    await this.asking; // a heap that was written is still read
    return this.answers;
  }

  private wait(ms: number): void {
    this.timer = setTimeout(
      () => {
        // What fails here, such as the analysis, fails again at the end and is reported there; the program runs on.
        this.asking = this.look().catch(() => {});
      },
      Math.min(MAX_PAUSE_MS, Math.max(PAUSE_MS, ms)),
    );
  }

  private async look(): Promise<void> {
    const { timer } = this;
    const capture = this.captureNow();
    const ageMs = capture?.ticks.at(-1)?.ms ?? 0;
    if (capture?.start !== undefined && ageMs >= this.dueMs) {
      const leaks = analyse(capture).verdict === 'leak';
      this.dueMs = (leaks ? 2 : LATER) * ageMs;
      if (leaks) await this.ask(capture.start.pid, ageMs);
    }
    if (this.timer === timer) this.wait(this.dueMs - ageMs); // unless stopped meanwhile
  }

  private async ask(pid: number, ageMs: number): Promise<void> {
    try {
      this.connection = await Connection.open(String(pid));
      if (this.timer === undefined) return; // stopped meanwhile
      const { answers } = await askWhy(this.connection, {});
      this.answers = answers.map((answer) => ({ ...answer, afterMs: ageMs }));
    } catch {
      // It has ended or is busy, or the disk is full: its end may still tell, and reports what fails there.
    } finally {
      this.connection?.close();
      this.connection = undefined;
    }
  }
}
