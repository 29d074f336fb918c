/**
 * Finds what holds the tensors that a measurement left behind: a heap snapshot of this thread, read by the child process of
 * `leak-audit why`. The snapshot goes into an unlinked file, so nothing of it remains.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { native } from '../addon/native';
import { isSingleExecutable } from '../errors/single-executable';
import { empty } from '../observe/audit/heap';
import { writeSnapshot } from '../observe/audit/heap-snapshot';
import { readerOptions } from '../observe/audit/reader';
import { placeOf } from './places';

/** A retaining path, from a name in the program to the tensors. */
export interface LeakHolder {
  /** Such as `cache (module server.js)`, `.images (Map)`, `44 × .pixels`. */
  readonly path: readonly string[];
  readonly tensors: number;
  readonly bytes: number;
}

/** A program of the CLI, which this part of the package never imports. */
const READER = path.join(__dirname, '../../cli/why/child.js');
/** Columns of native.watchRead(). */
const COLUMNS = 7;
const OWNER_ALONE = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants;

function openPrivate(): number {
  const file = path.join(os.tmpdir(), `.libtorch-node-${randomBytes(16).toString('hex')}.heap`);
  const fd = fs.openSync(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ALONE);
  fs.rmSync(file);
  return fd;
}

/** What holds the tensors, or why that cannot be determined: the lines that made them are known anyway. */
export type Holders = { readonly heldBy: readonly LeakHolder[] } | { readonly heldByUnknown: string };

/** `older`: handles from before the measurement. */
export async function whoHolds(older: ReadonlySet<number>): Promise<Holders> {
  if (isSingleExecutable())
    return { heldByUnknown: 'a single executable application cannot start the reader of a heap' };
  const open: number[] = [];
  try {
    const [snapshot, facts] = [openPrivate(), openPrivate()];
    open.push(snapshot, facts);
    writeSnapshot(snapshot);
    fs.writeFileSync(facts, JSON.stringify(factsAbout(older)));
    return await read(snapshot, facts);
  } catch (error) {
    empty(...open);
    return { heldByUnknown: firstLine((error as Error).message) }; // no /proc, no disk space or no child process
  } finally {
    for (const fd of open) fs.closeSync(fd);
  }
}

/** In the form of lib/observe/audit/heap.ts. */
function factsAbout(older: ReadonlySet<number>): object {
  const { tensors, storages } = native.watchRead();
  const seen = new Set<number>();
  const rows: number[] = [];
  const stacks = new Map<number, object[]>();
  const openings = new Map<number, object>();
  for (let at = 0; at < tensors.length; at += COLUMNS) {
    const [handle, site] = [tensors[at]!, tensors[at + 4]!];
    if (older.has(handle)) continue;
    let bytes = 0;
    for (let i = 0; i < tensors[at + 6]!; i++) {
      const storage = (tensors[at + 5]! + i) * 2;
      if (!seen.has(storages[storage]!)) bytes += storages[storage + 1]!;
      seen.add(storages[storage]!);
    }
    const scope = native.scopeOf(handle);
    rows.push(handle, bytes, site, scope);
    if (!stacks.has(site)) {
      const { file, line, column, function: name } = placeOf(site);
      stacks.set(site, file === null ? [] : [{ file, line, column, function: name }]);
    }
    const opening = native.scopeOpenings?.of(scope);
    if (opening !== undefined) openings.set(scope, opening);
  }
  const none = { pausedMs: 0, tokens: 0, graphs: 0, hiddenBytes: 0 };
  return {
    ...none,
    version: 1,
    pid: process.pid,
    thread: 0,
    tensors: rows,
    stacks: [...stacks],
    openings: [...openings],
  };
}

/** This folder, and its sources, which source maps name. */
const OWN = new Set([__dirname, path.join(__dirname, '../../../lib/testing')]);

/** Without the steps that lead through the measurement itself, which calls the function and so refers to its variables. */
function ofProgram(steps: readonly string[]): readonly string[] {
  const isOwn = (step: string) => OWN.has(path.dirname(path.resolve(/\((.*):\d+\)$/.exec(step)?.[1] ?? '/')));
  const rest = steps.slice(steps.map(isOwn).lastIndexOf(true) + 1);
  return rest.length > 0 ? rest : steps;
}

const firstLine = (text: string): string => text.trim().split('\n')[0]!;

/** What a process says that could not run: the error, not the excerpt of code above it. */
const failureOf = (stderr: string): string =>
  firstLine(/^\w*Error\b.*$/m.exec(stderr)?.[0] ?? (stderr || 'the process that reads the heap was ended'));

function read(snapshot: number, facts: number): Promise<Holders> {
  const options = { folder: process.cwd(), redact: false, facts: true };
  const { flags, env } = readerOptions();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, READER, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe', snapshot, facts],
      env,
    });
    // Before its stdout is used: a child that cannot be started, for lack of descriptors for example, has none.
    child.once('error', reject);
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      stderr += part;
    });
    child.once('close', () => {
      try {
        const { heldBy, error } = JSON.parse(text) as { heldBy?: LeakHolder[]; error?: string };
        if (heldBy === undefined) reject(new Error(firstLine(error ?? '')));
        else
          resolve({
            heldBy: heldBy.map(({ path: steps, tensors, bytes }) => ({ path: ofProgram(steps), tensors, bytes })),
          });
      } catch {
        reject(new Error(failureOf(stderr))); // it ended without an answer
      }
    });
  });
}
