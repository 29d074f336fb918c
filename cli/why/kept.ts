/**
 * The holders of tensors at the end of a run, in FILE.why next to its capture. The file has only these results and not the
 * heap, which contains all data of the program.
 */
import * as fs from 'node:fs';
import { list, object } from '../capture/fields';
import { UsageError } from '../errors/errors';
import { kindOf } from '../files/regular-file';
import { OWNER_ALONE, writeWholeFile } from '../files/whole-file';
import { checked } from './analyst';
import type { Answer } from './holder';
import { isAt } from './sites';

const MAX_BYTES = 256 * 2 ** 20;
const MAX_THREADS = 4096;

export const nameBeside = (capture: string): string => `${capture}.why`;

export function keepBeside(capture: string, answers: readonly Answer[]): void {
  writeWholeFile(nameBeside(capture), `${JSON.stringify({ version: 1, answers })}\n`, OWNER_ALONE);
}

/** Removes the file of an earlier run. */
export function removeBeside(capture: string): void {
  fs.rmSync(nameBeside(capture), { force: true });
}

/** Undefined if there is no such file. */
export function readBeside(capture: string): Answer[] | undefined {
  const file = nameBeside(capture);
  const there = fs.statSync(file, { throwIfNoEntry: false });
  if (there === undefined) return undefined;
  if (!there.isFile()) throw new UsageError(`${file}: expected a regular file, got ${kindOf(there)}`);
  if (there.size > MAX_BYTES) throw new UsageError(`${file}: expected at most ${MAX_BYTES} bytes, got ${there.size}`);
  let value: unknown;
  try {
    value = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    throw new UsageError(`${file}: expected JSON, got other text`);
  }
  return list(object(value, file).answers, `${file}: answers`, MAX_THREADS).map(checked);
}

/** The answers for `why FILE`. */
export function answersBeside(capture: string, { site, redact }: { site?: string; redact?: boolean }): Answer[] {
  const answers = readBeside(capture);
  if (answers === undefined)
    throw new UsageError(
      `${capture}: no record of what held its tensors: record with \`leak-audit run --why -o FILE\`, or use \`leak-audit why PID\``,
    );
  if (redact)
    throw new UsageError(
      '--redact-sources cannot be used with a capture, whose record contains names: use `leak-audit why PID --redact-sources`',
    );
  return site === undefined ? answers : answers.map((answer) => onlySite(answer, site));
}

function onlySite(answer: Answer, wanted: string): Answer {
  const heldBy = answer.heldBy.flatMap((holder) => {
    const sites = holder.sites.filter((site) => isAt(site, wanted));
    const sum = (figure: 'tensors' | 'bytes') => sites.reduce((total, site) => total + site[figure], 0);
    return sites.length === 0 ? [] : [{ ...holder, sites, tensors: sum('tensors'), bytes: sum('bytes') }];
  });
  const sum = (figure: 'tensors' | 'bytes') => heldBy.reduce((total, holder) => total + holder[figure], 0);
  return { ...answer, heldBy, tensors: sum('tensors'), bytes: sum('bytes') };
}
