/**
 * Measurements take turns, because each counts all tensors of the thread. A test that ends by its timeout leaves its measurement in
 * a call that may never settle; the measurements of all later tests must not wait for that one.
 */
import * as timers from 'node:timers';
import { codedError } from '../errors/errors';

/** Captured when the library is loaded: a test may install fake timers. */
const { setTimeout, clearTimeout } = timers;
const now = performance.now.bind(performance);

/** How long a measurement waits for a pending call of the one before, in ms. Shorter than the timeouts of tests. */
const PATIENCE_MS = 2000;

let latest: Measurement | undefined;

/** One measurement of `fn`, in the queue of its thread. */
export class Measurement {
  private calledMs: number | undefined;
  private isGivenUp = false;
  /** Resolves at the measurement's end, however it ends. */
  private end: Promise<unknown> = Promise.resolve();

  constructor(private readonly name: string) {}

  /** Runs the measurement after those that were asked for before. */
  run<T>(fn: () => Promise<T>): Promise<T> {
    const before = latest;
    latest = this;
    const result = Promise.resolve(before?.isOver()).then(fn);
    this.end = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  /** A separate function, so that no local variable keeps the result of a call alive. */
  async call(fn: () => unknown): Promise<void> {
    this.calledMs = now();
    await fn();
    this.calledMs = undefined;
    if (!this.isGivenUp) return;
    throw codedError(
      Error,
      'ERR_TORCH_TIMEOUT',
      `${this.name}: expected calls of at most ${PATIENCE_MS / 1000} s while another measurement waits, got a longer one; await one measurement before the next`,
    );
  }

  /** Until it has ended, or a call has been pending for too long. */
  private async isOver(): Promise<void> {
    let hasEnded = false;
    void this.end.then(() => {
      hasEnded = true;
    });
    await Promise.resolve();
    while (!hasEnded) {
      const left = this.calledMs === undefined ? PATIENCE_MS : this.calledMs + PATIENCE_MS - now();
      if (left <= 0) {
        this.isGivenUp = true;
        return;
      }
      await this.endWithin(left);
    }
  }

  private async endWithin(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const paused = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.end, paused]);
    clearTimeout(timer);
  }
}
