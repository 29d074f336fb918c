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
/** Time between judgements, at least. */
const PAUSE_MS = 1_000;
/** A judgement may take this share of the time, at most. */
const MAX_SHARE = 0.1;

export class HeldWhileRunning {
  private answers: Answer[] | undefined;
  private connection: Connection | undefined;
  private asking: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  /** The age of the recording from which the program is asked again. */
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
    this.timer = setTimeout(() => {
      this.asking = this.look();
    }, ms);
  }

  private async look(): Promise<void> {
    const { timer } = this;
    const began = performance.now();
    const capture = this.captureNow();
    const ageMs = capture?.ticks.at(-1)?.ms ?? 0;
    let tookMs = 0;
    if (capture?.start !== undefined && ageMs >= this.dueMs) {
      const leaks = analyse(capture).verdict === 'leak';
      tookMs = performance.now() - began;
      if (leaks) {
        this.dueMs = 2 * ageMs;
        await this.ask(capture.start.pid, ageMs);
      }
    }
    if (this.timer === timer) this.wait(Math.max(PAUSE_MS, tookMs / MAX_SHARE)); // unless stopped meanwhile
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
