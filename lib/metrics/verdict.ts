/**
 * The verdict of `leak-audit` on this process, for metrics. A recording runs as with `leak-audit attach`, and from time to
 * time a child process with low priority judges its capture: the same rules as everywhere, and none of their cost here.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError, refusal } from '../errors/errors';
import { isSingleExecutable } from '../errors/single-executable';
import { readerOptions } from '../observe/audit/reader';

export interface VerdictOptions {
  /** Ms between two judgements (default 300000). */
  everyMs?: number | undefined;
  /** What is recorded (default 'sample'): docs/leak-audit.md. */
  mode?: 'sample' | 'full' | undefined;
  /** Mean bytes between samples in the mode 'sample'. Default: adapted to a budget of cost, at most 524288. */
  sampleBytes?: number | undefined;
  /** The limit of the capture's size (default 16 MiB). */
  maxBytes?: number | undefined;
}

/** A leaking line. */
export interface LeakSite {
  /** "file:line:column" */
  readonly site: string;
  readonly function: string;
  readonly bytesPerMinute: number;
}

export interface Judgement {
  readonly verdict: Verdict;
  /** At most 20, as in the report. */
  readonly leaks: readonly LeakSite[];
  /** ms since 1970. */
  readonly at: number;
}

export const VERDICTS = ['clean', 'leak', 'insufficient'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The part of the JSON report that is used here. */
interface Report {
  verdict: Verdict;
  summary: { ended: string };
  sites: {
    file: string;
    line: number;
    column: number;
    function: string;
    verdict: string;
    growthBytesPerMinute: number;
  }[];
}

const FN = 'exportToPrometheus';
const CLI = path.resolve(__dirname, '../../cli/leak-audit.js');
const MAX_TIMER_MS = 2 ** 31 - 1;
const MIN_MAX_BYTES = 256 * 1024;
const ROUND_MS = 1000;
const MIN_ROUND_MS = 100;
/** As many rounds per judgement, if judgements are frequent. */
const ROUNDS = 40;
const FRAMES = 16;
const MAX_SITES = 20;
const MAX_OUTPUT = 64 * 2 ** 20;
const MAX_JUDGING_MS = 120_000;
const LOW_PRIORITY = 10;

function checked(
  given: VerdictOptions,
): Required<{ [Name in keyof VerdictOptions]: NonNullable<VerdictOptions[Name]> }> {
  const {
    everyMs = 300_000,
    mode = 'sample',
    sampleBytes = 524_288,
    maxBytes = 16 * 2 ** 20,
  } = ownOptions(`${FN}: verdict`, given, ['everyMs', 'mode', 'sampleBytes', 'maxBytes']);
  const wrong = (name: string, expected: string, got: unknown) => argumentError(FN, `verdict.${name}`, expected, got);
  if (!(Number.isFinite(everyMs) && everyMs >= 100 && everyMs <= MAX_TIMER_MS))
    throw wrong('everyMs', `a number of ms from 100 to ${MAX_TIMER_MS}`, everyMs);
  if (mode !== 'sample' && mode !== 'full') throw wrong('mode', "'sample' or 'full'", mode);
  if (!(Number.isFinite(sampleBytes) && sampleBytes >= 0))
    throw wrong('sampleBytes', 'a number of bytes, 0 or more', sampleBytes);
  if (!(Number.isSafeInteger(maxBytes) && maxBytes >= MIN_MAX_BYTES))
    throw wrong('maxBytes', `an integer of ${MIN_MAX_BYTES} or more bytes`, maxBytes);
  return { everyMs, mode, sampleBytes, maxBytes };
}

/** Records and judges this process until `stop()`. */
export class VerdictWatch {
  /** Undefined before the first judgement, and without a recording. */
  latest: Judgement | undefined;
  readonly judgements = { done: 0, failed: 0 };

  private readonly options: ReturnType<typeof checked>;
  /** Whether the distance between samples is that of `leak-audit` by default. */
  private readonly adapts: boolean;
  private readonly timer: NodeJS.Timeout;
  private readonly removeAtExit = () => this.remove();
  private folder: string | undefined;
  private recording = 0;
  private child: ChildProcess | undefined;
  private stopped = false;

  constructor(given: VerdictOptions) {
    this.options = checked(given);
    this.adapts = given.sampleBytes === undefined;
    if (!isMainThread) throw refusal(FN, 'verdict', 'to be exported in the main thread', 'a worker thread');
    if (isSingleExecutable())
      throw refusal(FN, 'verdict', 'to be exported by a program that node runs', 'a single executable application');
    this.begin();
    process.on('exit', this.removeAtExit);
    this.timer = setInterval(() => this.judge(), this.options.everyMs).unref();
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
    process.off('exit', this.removeAtExit);
    this.child?.kill();
    if (this.isOurs()) native.auditStop('stopped');
    this.latest = undefined;
    this.remove();
  }

  /** Starts a recording, if none runs. */
  private begin(): void {
    if (native.auditDepth() > 0) return; // such as leak-audit attach
    const { everyMs, mode, sampleBytes, maxBytes } = this.options;
    try {
      this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-verdict-'));
      const refused = native.auditStart({
        ...{ file: this.file, mode, sampleBytes, maxBytes, depth: FRAMES },
        adaptDistance: this.adapts ? 1 : 0,
        intervalMs: Math.max(MIN_ROUND_MS, Math.min(ROUND_MS, Math.round(everyMs / ROUNDS))),
        command: [process.argv0, ...process.argv.slice(1)].join(' '),
      });
      if (refused !== undefined) throw new Error(refused);
      this.recording = native.auditNumber();
    } catch {
      // Such as a full disk. The metric of judgements says so, and the next round tries again.
      this.judgements.failed++;
      this.remove();
    }
  }

  private get file(): string {
    return path.join(this.folder!, 'verdict.ltna');
  }

  /** Whether the recording that runs is that of `begin`. `leak-audit detach` may have ended it. */
  private isOurs(): boolean {
    return this.folder !== undefined && native.auditNumber() === this.recording;
  }

  private judge(): void {
    if (this.child !== undefined) return; // the last one is not done yet
    if (!this.isOurs()) {
      this.latest = undefined;
      this.remove();
      this.begin();
      return;
    }
    const { flags, env } = readerOptions();
    let child: ChildProcess;
    try {
      child = execFile(
        process.execPath,
        [...flags, CLI, 'report', this.file, '--json', '-'],
        { env, maxBuffer: MAX_OUTPUT, timeout: MAX_JUDGING_MS, killSignal: 'SIGKILL' },
        (error, stdout) => this.take(error, stdout),
      );
    } catch {
      this.judgements.failed++; // no memory for a process, or Node's permission model denies it
      return;
    }
    this.child = child;
    // A judgement does not keep the program running.
    child.unref();
    for (const stream of [child.stdout, child.stderr]) (stream as { unref?(): void } | null)?.unref?.();
    try {
      if (child.pid !== undefined) os.setPriority(child.pid, LOW_PRIORITY);
    } catch {
      // It has ended already.
    }
  }

  private take(error: Error | null, stdout: string): void {
    this.child = undefined;
    if (this.stopped) return;
    try {
      if (error !== null) throw error;
      const { verdict, summary, sites } = JSON.parse(stdout) as Report;
      this.judgements.done++;
      // 'killed' stands for a capture without an end, so one that is still written.
      const leaks = sites.filter((site) => site.verdict === 'leak').slice(0, MAX_SITES);
      this.latest = summary.ended === 'killed' ? { verdict, leaks: leaks.map(leakOf), at: Date.now() } : undefined;
    } catch {
      this.judgements.failed++; // the last judgement stays, with its time
    }
  }

  private remove(): void {
    const { folder } = this;
    this.folder = undefined;
    if (folder === undefined) return;
    try {
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // A folder that cannot be removed must not end the program.
    }
  }
}

const leakOf = (site: Report['sites'][number]): LeakSite => ({
  site: site.line === 0 ? site.file : `${site.file}:${site.line}:${site.column}`,
  function: site.function,
  bytesPerMinute: Math.max(0, site.growthBytesPerMinute),
});
