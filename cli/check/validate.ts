/** Strict reading of files that users write, so that a typing error is not ignored. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { kindOf, readRegular } from '../files/regular-file';

const MAX_BYTES = 16 * 2 ** 20;

type Check = (value: unknown) => string | undefined;

/** The check of a field, and whether the field may be missing. */
export interface Field {
  check: Check;
  optional?: true;
}

const checkThat =
  (expected: string, test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? undefined : expected;

export const text = checkThat('a non-empty string', (v) => typeof v === 'string' && v.trim() !== '');
export const anyText = checkThat('a string', (v) => typeof v === 'string');
export const positive = checkThat('a whole number of 1 or more', (v) => Number.isSafeInteger(v) && (v as number) >= 1);
export const amount = checkThat('a number of 0 or more', (v) => typeof v === 'number' && Number.isFinite(v) && v >= 0);
export const factor = checkThat('a number of 1 or more', (v) => typeof v === 'number' && Number.isFinite(v) && v >= 1);
export const list = checkThat('a list', Array.isArray);
export const date = checkThat(
  'a date such as "2027-01-31"',
  (v) =>
    typeof v === 'string' && /^\d{4}-\d\d-\d\d$/.test(v) && new Date(`${v}T00:00:00Z`).toJSON()?.slice(0, 10) === v,
);
export const version = (wanted: number) => checkThat(String(wanted), (v) => v === wanted);

/** Reads a JSON file. @throws {UsageError} with the file's name */
export function readJson(file: string): unknown {
  let content: string | undefined;
  try {
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new UsageError(`${file}: expected a regular file, got ${kindOf(stat)}`);
    if (stat.size > MAX_BYTES) throw new UsageError(`${file}: expected at most ${MAX_BYTES} bytes, got ${stat.size}`);
    content = readRegular(file, MAX_BYTES);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file}: ${code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`}`);
  }
  if (content === undefined) throw new UsageError(`${file}: replaced while it was opened`);
  if (content.trim() === '') throw new UsageError(`${file}: expected JSON, got an empty file`);
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new UsageError(`${file}: not valid JSON (${(error as Error).message.replace(/\s+/g, ' ').slice(0, 120)})`);
  }
}

/** Checks each field of an object and rejects unknown ones. `where` is for errors: `baseline.json: sites[3]`. */
export function checkObject(value: unknown, fields: Record<string, Field>, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`${where}: expected an object, got ${shown(value)}`);
  }
  const object = value as Record<string, unknown>;
  const at = (name: string) => (where.endsWith(']') ? `${where}.${name}` : `${where}: ${name}`);
  for (const name of Object.keys(object)) {
    if (Object.hasOwn(fields, name)) continue;
    throw new UsageError(`${at(shortened(name))}: unknown field; expected ${Object.keys(fields).join(', ')}`);
  }
  for (const [name, { check, optional }] of Object.entries(fields)) {
    const given = Object.hasOwn(object, name) ? object[name] : undefined;
    if (given === undefined && optional) continue;
    const expected = check(given);
    if (expected === undefined) continue;
    throw new UsageError(`${at(name)}: expected ${expected}, got ${given === undefined ? 'nothing' : shown(given)}`);
  }
  return object;
}

const shortened = (value: string) => (value.length > 60 ? `${value.slice(0, 60)}…` : value);
const shown = (value: unknown) => shortened(JSON.stringify(value) ?? String(value));
