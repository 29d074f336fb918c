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
import type * as Methods from '../generated/methods';
import type * as Public from '../generated/public';
import type * as Raw from '../generated/raw';
import type * as RawCalls from '../generated/raw_calls';
import type * as Table from '../generated/table';
import { buildCommand } from '../libtorch/bindings';
import { generatedFolder, native } from './native';

// Module names are real paths.
ownFolders.push(realpathSync(generatedFolder) + path.sep);
const read = (name: string): unknown => require(path.join(generatedFolder, `${name}.js`));

/** One row per op and function of a class: name, schema, signature code; and what is known of each base type. */
export const { kinds, table } = read('table') as typeof Table;

if (table.length !== native.opCount) {
  throw codedError(
    Error,
    'ERR_TORCH_LOAD',
    `the addon has ${native.opCount} ops, the generated JavaScript in ${generatedFolder} is for ${table.length}: ` +
      `they are from different builds. Build again: ${buildCommand({ force: true })}.`,
  );
}

export const { makeClasses } = read('classes') as typeof Classes;
export const { makeFunctions } = read('functions') as typeof Functions;
export const { makeMethods } = read('methods') as typeof Methods;
/** Signatures of hand-written functions. */
export const { publics } = read('public') as typeof Public;
export const { raw } = read('raw') as typeof Raw;
/** Loaded when a program first uses `torch.ops`. */
export const readRawCalls = (): typeof RawCalls => read('raw_calls') as typeof RawCalls;
