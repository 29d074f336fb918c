/** Analyses a heap snapshot in a child process (child.ts). */
import { spawn } from 'node:child_process';
import * as path from 'node:path';
import { readerOptions } from '../../lib/observe/audit/reader';
import { amount, list, object, text, whole } from '../capture/fields';
import { UsageError } from '../errors/errors';
import type { ChildOptions } from './child';
import type { Answer, Holder } from './holder';
import type { SiteShare } from './sites';

const CHILD = path.join(__dirname, 'child.js');
const MAX_ANSWER = 256 * 2 ** 20;
const MAX_HOLDERS = 1_000_000;

export interface AnalystOptions {
  redact?: boolean;
  site?: string;
}

/** The caller keeps ownership of the descriptors. */
export async function analyseHeap(
  snapshot: number,
  facts: number | undefined,
  options: AnalystOptions,
): Promise<Answer> {
  const childOptions: ChildOptions = {
    folder: process.cwd(),
    redact: options.redact === true,
    facts: facts !== undefined,
    ...(options.site === undefined ? {} : { site: options.site }),
  };
  const stdio: ('ignore' | 'pipe' | 'inherit' | number)[] = ['ignore', 'pipe', 'inherit', snapshot];
  if (facts !== undefined) stdio.push(facts);
  const { flags, env } = readerOptions();
  const child = spawn(process.execPath, [...flags, CHILD, JSON.stringify(childOptions)], { stdio, env });
  // Before its stdout is used: a child that cannot be started, for lack of descriptors for example, has none.
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', ({ message }) => reject(new UsageError(`cannot read the heap snapshot: ${message}`)));
    child.once('close', (...ending) => resolve(ending));
  });
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (part: Buffer) => {
    size += part.length;
    if (size > MAX_ANSWER) child.kill('SIGKILL');
    else parts.push(part);
  });
  const [code, signal] = await ended;
  if (code !== 0)
    throw new UsageError(
      signal === null
        ? `the heap snapshot could not be read (status ${code})`
        : `the process that read the heap snapshot was ended by ${signal}`,
    );
  return checked(JSON.parse(Buffer.concat(parts).toString()));
}

/** Validates an answer, which may come from an untrusted file or an older leak-audit. */
export function checked(value: unknown): Answer {
  const given = object(value, 'answer');
  if (typeof given.error === 'string') throw new UsageError(given.error);
  return {
    pid: whole(given.pid, 'pid', 2 ** 32),
    thread: whole(given.thread, 'thread', 2 ** 32),
    pausedMs: amount(given.pausedMs, 'pausedMs'),
    ...(given.afterMs === undefined ? {} : { afterMs: amount(given.afterMs, 'afterMs') }),
    tensors: amount(given.tensors, 'tensors'),
    bytes: amount(given.bytes, 'bytes'),
    heldBy: list(given.heldBy, 'heldBy', MAX_HOLDERS).map((one, i) => holderOf(one, `heldBy[${i}]`)),
  };
}

function holderOf(value: unknown, where: string): Holder {
  const given = object(value, where);
  return {
    path: list(given.path, `${where}.path`, 64).map((step) => text(step, `${where}.path`)),
    tensors: amount(given.tensors, `${where}.tensors`),
    ...(given.openedAt === undefined ? {} : { openedAt: text(given.openedAt, `${where}.openedAt`) }),
    bytes: amount(given.bytes, `${where}.bytes`),
    sites: list(given.sites, `${where}.sites`, MAX_HOLDERS).map((one, i) => siteOf(one, `${where}.sites[${i}]`)),
  };
}

function siteOf(value: unknown, where: string): SiteShare {
  const given = object(value, where);
  return {
    file: text(given.file, `${where}.file`),
    line: whole(given.line, `${where}.line`, 2 ** 32),
    column: whole(given.column, `${where}.column`, 2 ** 32),
    function: text(given.function, `${where}.function`),
    tensors: amount(given.tensors, `${where}.tensors`),
    bytes: amount(given.bytes, `${where}.bytes`),
  };
}
