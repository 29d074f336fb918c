/** Files that users write and commit: read strictly, so that a typing error never passes for "nothing to hide". */
import * as fs from 'node:fs';
import { UsageError } from '../errors';
import { readRegular } from '../regular_file';

const MAX_BYTES = 16 * 2 ** 20;

type Check = (value: unknown) => string | undefined;

/** What a field must be: its check, and whether it may be missing. */
export interface Field {
  check: Check;
  optional?: true;
}

const says =
  (expected: string, test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? undefined : expected;

export const text = says('a string that is not empty', (v) => typeof v === 'string' && v.trim() !== '');
export const anyText = says('a string', (v) => typeof v === 'string');
export const positive = says('a whole number of 1 or more', (v) => Number.isSafeInteger(v) && (v as number) >= 1);
export const amount = says('a number of 0 or more', (v) => typeof v === 'number' && Number.isFinite(v) && v >= 0);
export const factor = says('a number of 1 or more', (v) => typeof v === 'number' && Number.isFinite(v) && v >= 1);
export const list = says('a list', Array.isArray);
export const date = says(
  'a date as "2027-01-31"',
  (v) =>
    typeof v === 'string' && /^\d{4}-\d\d-\d\d$/.test(v) && new Date(`${v}T00:00:00Z`).toJSON()?.slice(0, 10) === v,
);
export const version = (wanted: number) => says(String(wanted), (v) => v === wanted);

/** The object in a JSON file. Throws UsageError, with the file's name, when there is none. */
export function readJson(file: string): unknown {
  let content: string | undefined;
  try {
    const stat = fs.statSync(file);
    if (stat.isDirectory()) throw new UsageError(`${file}: is a folder`);
    if (!stat.isFile()) throw new UsageError(`${file}: expected a regular file, got a pipe or a device`);
    if (stat.size > MAX_BYTES) throw new UsageError(`${file}: has ${stat.size} bytes, more than ${MAX_BYTES}`);
    content = readRegular(file, MAX_BYTES);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file}: ${code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`}`);
  }
  if (content === undefined) throw new UsageError(`${file}: was replaced while it was opened`);
  if (content.trim() === '') throw new UsageError(`${file}: is empty`);
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new UsageError(`${file}: is no JSON (${(error as Error).message.replace(/\s+/g, ' ').slice(0, 120)})`);
  }
}

/** Checks each field of an object; unknown ones are refused. `where` is for errors: `baseline.json: sites[3]`. */
export function checkObject(value: unknown, fields: Record<string, Field>, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`${where}: expected an object, got ${shown(value)}`);
  }
  const object = value as Record<string, unknown>;
  const at = (name: string) => (where.endsWith(']') ? `${where}.${name}` : `${where}: ${name}`);
  for (const name of Object.keys(object)) {
    if (Object.hasOwn(fields, name)) continue;
    throw new UsageError(`${at(shortened(name))}: no such field; there are ${Object.keys(fields).join(', ')}`);
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
