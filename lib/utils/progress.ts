/** How far a training is: a bar on terminals, plain lines in logs. */

import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { peer } from '../errors/peer';

const FN = 'utils.Progress';

/** Where it is shown: `process.stdout`, or another stream. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** The number of steps (default: unknown, and no time is left to be estimated). */
  total?: number | null | undefined;
  /** The text before the figures, such as 'epoch 3'. */
  label?: string | undefined;
  /** In logs: the number of steps from one line to the next. Default: 10. */
  every?: number | undefined;
  /** Default: `process.stdout`. */
  output?: ProgressOutput | undefined;
}

export interface ProgressFigures {
  loss?: number | undefined;
  /** Samples of this step, for samples/s. */
  samples?: number | undefined;
}

/** The parts of cli-progress that are used here. */
interface Bar {
  start(total: number, at: number, payload: object): void;
  update(at: number, payload: object): void;
  stop(): void;
}
interface CliProgress {
  SingleBar: new (options: object) => Bar;
}

/** "1h 02m", "3m 20s", "45s" */
function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  const two = (value: number) => String(value).padStart(2, '0');
  if (hours > 0) return `${hours}h ${two(minutes % 60)}m`;
  return minutes > 0 ? `${minutes}m ${two(seconds % 60)}s` : `${seconds}s`;
}

/** Three digits at least. */
const rate = (perSecond: number): string =>
  perSecond >= 100 ? Math.round(perSecond).toLocaleString('en') : perSecond.toPrecision(3);

const countOf = (name: string, value: unknown): number => {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw argumentError(FN, name, 'an integer of 1 or more', value);
};

/**
 * Shows steps with loss, steps and samples per second, the time left and the number of live tensors: on a terminal as a bar of
 * `cli-progress`, elsewhere as a line for each `every` steps.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE on a terminal without cli-progress
 */
export class Progress {
  readonly #total: number | null;
  readonly #label: string;
  readonly #every: number;
  readonly #output: ProgressOutput;
  readonly #bar: Bar | null;
  readonly #start = performance.now();
  #steps = 0;
  #samples = 0;
  #loss: number | undefined;
  #shown = 0;
  #ended = false;

  constructor(options?: ProgressOptions);
  constructor(...passed: [options?: ProgressOptions]) {
    const [options = {}] = upTo(FN, 1, passed);
    const given = ownOptions(FN, options, ['total', 'label', 'every', 'output']);
    const { total, label = '', every, output = process.stdout } = given;
    this.#total = total === undefined || total === null ? null : countOf('total', total);
    if (typeof label !== 'string') throw argumentError(FN, 'label', 'a string', label);
    this.#label = label;
    this.#every = every === undefined ? 10 : countOf('every', every);
    if (typeof output?.write !== 'function') throw argumentError(FN, 'output', 'a stream', output);
    this.#output = output;
    this.#bar = output.isTTY === true ? this.#newBar() : null;
    this.#bar?.start(this.#total ?? 1, 0, { figures: '' });
  }

  /** The number of steps that were noted. */
  get steps(): number {
    return this.#steps;
  }

  /** One more step is done. */
  step(figures: ProgressFigures = {}): void {
    const { loss, samples = 0 } = ownOptions('utils.Progress.step', figures, ['loss', 'samples']);
    for (const [name, value] of [['loss', loss ?? 0] as const, ['samples', samples] as const]) {
      if (typeof value !== 'number') throw argumentError('utils.Progress.step', `figures.${name}`, 'a number', value);
    }
    this.#steps++;
    this.#samples += samples;
    this.#loss = loss ?? this.#loss;
    if (this.#ended) return;
    if (this.#bar !== null) this.#bar.update(this.#total === null ? 0 : this.#steps, { figures: this.#figures() });
    else if (this.#steps % this.#every === 0) this.#line();
  }

  /** Ends the bar, or writes the line of the last step. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#bar?.stop();
    if (this.#bar === null && this.#steps > this.#shown) this.#line();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  /** The text of a line: also what the bar has behind it. */
  toString(): string {
    const label = this.#label === '' ? '' : `${this.#label}, `;
    const of = this.#total === null ? '' : ` of ${this.#total}`;
    return `${label}step ${this.#steps}${of}: ${this.#figures()}`;
  }

  #line(): void {
    this.#shown = this.#steps;
    this.#output.write(`${this}\n`);
  }

  #figures(): string {
    const ms = Math.max(performance.now() - this.#start, 0.001);
    const speed = (1000 * this.#steps) / ms;
    const left = this.#total === null ? null : (this.#total - this.#steps) / speed;
    return [
      ...(this.#loss === undefined ? [] : [`loss ${this.#loss.toFixed(6)}`]),
      `${rate(speed)} it/s`,
      ...(this.#samples > 0 ? [`${rate((1000 * this.#samples) / ms)} samples/s`] : []),
      ...(left === null || left < 0 ? [] : [`${duration(1000 * left)} left`]),
      `${native.memory().tensors} tensors`,
    ].join(', ');
  }

  #newBar(): Bar {
    const { SingleBar } = peer(FN, 'cli-progress') as CliProgress;
    const label = this.#label === '' ? '' : '{label} ';
    const whole = this.#total === null ? '{figures}' : '{bar} {value}/{total} {figures}';
    return new SingleBar({
      format: `${label}${whole}`.replace('{label}', () => this.#label),
      stream: this.#output,
      barsize: 20,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      gracefulExit: false,
    });
  }
}
