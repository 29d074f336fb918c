/**
 * The process that reads a heap snapshot from descriptor 3, with the optional facts in descriptor 4. It isolates crashes
 * and memory use caused by such files. It answers with one line of JSON.
 */
import * as fs from 'node:fs';
import { Redaction } from '../analysis/redact';
import { UsageError } from '../errors/errors';
import { sendBytes } from '../terminal/writers';
import { answerFrom } from './answer';
import { factsOf } from './facts';
import type { AnswerOptions } from './sites';

const SNAPSHOT_FD = 3;
const FACTS_FD = 4;

export interface ChildOptions {
  folder: string;
  redact: boolean;
  facts: boolean;
  site?: string;
}

if (require.main === module) {
  const { folder, redact, facts, site } = JSON.parse(process.argv[2]!) as ChildOptions;
  const options: AnswerOptions = {
    folder,
    ...(redact ? { redaction: new Redaction() } : {}),
    ...(site === undefined ? {} : { site }),
  };
  let answer: unknown;
  try {
    const given = facts ? factsOf(textFrom(FACTS_FD)) : undefined;
    answer = answerFrom(SNAPSHOT_FD, given, options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    answer = { error: error.message };
  }
  sendBytes(Buffer.from(`${JSON.stringify(answer)}\n`));
}

/** Reads from the beginning, whatever the descriptor's position. */
function textFrom(fd: number): string {
  const { size } = fs.fstatSync(fd);
  const buffer = Buffer.alloc(size);
  let done = 0;
  while (done < size) {
    const n = fs.readSync(fd, buffer, done, size - done, done);
    if (n === 0) break;
    done += n;
  }
  return buffer.toString('utf8', 0, done);
}
