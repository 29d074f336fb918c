/** A connection to a running process. native/audit/requests.h defines the requests. */
import * as net from 'node:net';
import { UsageError } from '../errors/errors';
import { printable } from '../terminal/printable';
import { isStill } from './listener';
import { findTarget, type Target } from './target';

const PROTOCOL = 'ltn1';
const TIMEOUT_MS = 20_000;
/** A process that does not refuse keeps a silent connection open for longer. */
const REFUSAL_MS = 5_000;
/** The limit for one line; the library sends no longer answer. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

type Answer = Record<string, unknown>;

/** The process refused a request. */
export class Refusal extends UsageError {
  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

export class Connection {
  readonly pid: number;
  /** The parts of the incomplete line, and their total length. */
  private parts: string[] = [];
  private length = 0;
  private readonly waiting: ((answer: Answer | undefined) => void)[] = [];
  private over = false;
  /** An error that the process sent before any request: it will answer nothing. */
  private refusedWith: Answer | undefined;
  /** Whether the connection may have ended by a refusal that could not be read. */
  private mayBeRefused = true;
  /** Settles when the recording that this connection started, or the process, has ended. */
  readonly ended: Promise<void>;
  private resolveEnded = () => {};

  private constructor(
    private readonly target: Target,
    private readonly socket: net.Socket,
    private readonly timeoutMs: number,
  ) {
    this.pid = target.pid;
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => this.take(part));
    socket.on('error', () => this.finish());
    socket.on('close', () => this.finish());
  }

  /** `timeoutMs`: timeout for an answer. */
  static async open(pidText: string, timeoutMs = TIMEOUT_MS): Promise<Connection> {
    const target = findTarget(pidText);
    const connection = new Connection(target, await connect(target), timeoutMs);
    // A process that refuses sends an error and closes. Read that first: if a write to the closed socket fails, Node reads no more.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    return connection;
  }

  /** Returns the answer. @throws {Refusal} if it is an error */
  async ask(verb: string, fields: Record<string, string | number> = {}): Promise<Answer> {
    const parts = Object.entries(fields).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    let answer = await this.send(`${[PROTOCOL, verb, ...parts].join(' ')}\n`);
    if (answer === undefined && this.mayBeRefused) answer = await this.refusalOfAnother();
    if (answer === undefined) throw new UsageError(`process ${this.pid} ended or closed the connection`);
    if (typeof answer.error === 'string') throw this.refusal(answer.error);
    return answer;
  }

  close(): void {
    this.socket.destroy();
  }

  private refusal(reason: string): Refusal {
    const { pid } = this;
    const message =
      {
        attached: `process ${pid} is already recorded; to stop: leak-audit detach ${pid}`,
        run: `process ${pid} is already recorded by leak-audit run`,
        'not attached': `process ${pid} is not recorded; to start: leak-audit attach ${pid}`,
      }[reason] ?? `process ${pid}: ${printable(reason).slice(0, 300)}`;
    return new Refusal(reason, message);
  }

  /** What the process sends to another connection before any request; undefined if that is not a refusal. */
  private async refusalOfAnother(): Promise<Answer | undefined> {
    this.mayBeRefused = false;
    if (!isStill(this.pid, this.target)) return undefined;
    const other = new Connection(this.target, await connect(this.target), this.timeoutMs);
    const timeout = setTimeout(() => other.giveUp(), REFUSAL_MS);
    await other.ended;
    clearTimeout(timeout);
    return other.refusedWith;
  }

  private send(line: string): Promise<Answer | undefined> {
    if (this.over || this.refusedWith !== undefined) return Promise.resolve(this.refusedWith);
    this.socket.write(line);
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(() => {
        reject(new UsageError(`process ${this.pid} does not answer (is it stopped?)`));
        this.giveUp();
      }, this.timeoutMs);
      this.waiting.push((answer) => {
        clearTimeout(timeout);
        resolve(answer);
      });
    });
  }

  /**
   * Closes after a timeout or an answer that is too long. Answers have no ids, so a late one would be taken for the answer
   * to the next request.
   */
  private giveUp(): void {
    this.mayBeRefused = false;
    this.socket.destroy();
    this.finish();
  }

  private take(part: string): void {
    if (this.over) return;
    let from = 0;
    for (let end = part.indexOf('\n'); end >= 0; end = part.indexOf('\n', from)) {
      if (!this.keep(part.slice(from, end))) return;
      from = end + 1;
      const line = this.parts.splice(0).join('');
      this.length = 0;
      this.takeLine(line);
    }
    this.keep(part.slice(from));
  }

  /** Keeps a part of an incomplete line. Returns false if the line is too long. */
  private keep(part: string): boolean {
    this.length += part.length;
    if (this.length > MAX_CHARACTERS) {
      this.parts = [];
      this.giveUp();
      return false;
    }
    this.parts.push(part);
    return true;
  }

  private takeLine(line: string): void {
    this.mayBeRefused = false;
    const answer = parse(line);
    if (answer?.event === 'ended') this.resolveEnded();
    else if (this.waiting.length > 0) this.waiting.shift()!(answer);
    else if (typeof answer?.error === 'string') this.refusedWith ??= answer;
  }

  private finish(): void {
    this.over = true;
    for (const settle of this.waiting.splice(0)) settle(undefined);
    this.resolveEnded();
  }
}

/** Timeout for connecting while other clients fill the queue. Retries are frequent and uneven, to meet a free place. */
const CONNECT_MS = 20_000;
const pauseMs = () => 1 + Math.random() * 8;

async function connect(target: Target): Promise<net.Socket> {
  const { pid, address } = target;
  for (const since = performance.now(); ; ) {
    try {
      const socket = await connectOnce(address);
      if (isStill(pid, target)) return socket;
      socket.destroy();
      throw new UsageError(`process ${pid} ended or closed its socket during connect`);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EAGAIN' || performance.now() - since > CONNECT_MS)
        throw new UsageError(`process ${pid} cannot be reached (${code ?? message})`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs()));
    }
  }
}

function connectOnce(address: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: `\0${address}` });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function parse(line: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Answer) : undefined;
  } catch {
    return undefined; // not JSON
  }
}

/** Calls `fn` with a connection, and closes it afterwards. */
export async function withProcess<T>(pidText: string, fn: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.open(pidText);
  try {
    return await fn(connection);
  } finally {
    connection.close();
  }
}
