/**
 * The generated JavaScript, from the folder of the loaded binding: ops and rows differ between versions of libtorch, so
 * wrappers and addon must match.
 */
import { realpathSync } from 'node:fs';
import * as path from 'node:path';
import { ownFolders } from '../errors/caller';
import { codedError } from '../errors/errors';
import type * as Classes from '../generated/classes';
import type * as Functions from '../generated/functions';
import type * as Kinds from '../generated/kinds';
import type * as Methods from '../generated/methods';
import type * as Public from '../generated/public';
import type * as Raw from '../generated/raw';
import type * as RawCalls from '../generated/raw_calls';
import type * as Table from '../generated/table';
import { buildCommand } from '../libtorch/bindings';
import { isNodes, lateModule, loading } from './late-module';
import { generatedFolder, native } from './native';

// Module names are real paths.
ownFolders.push(realpathSync(generatedFolder) + path.sep);
const read = (name: string): unknown => require(path.join(generatedFolder, `${name}.js`));

/** What is known of each base type, and the number of rows of the table. */
export const { kinds, rowCount } = read('kinds') as typeof Kinds;

function requireRows(count: number): void {
  if (count === native.opCount) return;
  throw codedError(
    Error,
    'ERR_TORCH_LOAD',
    `the addon has ${native.opCount} ops, the generated JavaScript in ${generatedFolder} is for ${count}: ` +
      `they are from different builds. Build again: ${buildCommand({ force: true })}.`,
  );
}
requireRows(rowCount);

export const { makeClasses } = read('classes') as typeof Classes;
export const { makeFunctions } = read('functions') as typeof Functions;
export const { makeMethods } = read('methods') as typeof Methods;
/** Signatures of hand-written functions. */
export const { publics } = read('public') as typeof Public;

/** One row per op and function of a class: name, schema, signature code. Loaded with the first call that the parser reads. */
export const readTable = lateModule(() => {
  const file = read('table') as typeof Table;
  requireRows(file.table.length); // the files may have been replaced since the library was loaded
  return file;
});
/** The rows of all overloads, by name. Loaded with the first hand-written function that calls an op. */
export const readRaw = lateModule(() => {
  const file = read('raw') as typeof Raw;
  requireRows(file.rowCount);
  return file;
});
/** Loaded when a program first uses `torch.ops`, wherever it runs: it is large, and few need it. */
export function readRawCalls(): typeof RawCalls {
  const load = () => read('raw_calls') as typeof RawCalls;
  return isNodes ? loading(load) : load();
}

/** Gives the row of an overload, which is looked up once. */
export function lateRow(name: string, overload = 'default'): () => number {
  let row: number | undefined;
  return () => (row ??= readRaw().raw.aten![name]![overload]!);
}
