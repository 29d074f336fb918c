/**
 * Checks a model's archive before libtorch reads it, since libtorch's readers trust their input: the zip's structure, every
 * entry's CRC-32, the pickles, the sizes of tensors and the nesting of the source. The meaning of the source is not checked.
 */

import { demandEntries } from '../files/formats';
import { Budget, type LoadLimits } from '../files/limits';
import { quote } from '../files/names';
import { openStrictly } from '../files/strict-zip';
import type { Bytes, ZipEntry } from '../files/zip';
import { refuseRunning } from './load-time-code';
import { examinePickle, type Records } from './pickles';
import { type Enums, examineSource } from './source';

export type Fail = (what: string) => Error;

/** Throws `fail(…)` for the first problem. */
export function examine(bytes: Bytes, limits: LoadLimits, mayRun: boolean, fail: Fail): void {
  const budget = new Budget('jit.load', limits, bytes.size, fail);
  const zip = openStrictly(bytes, fail, budget);
  demandEntries(zip.entries.keys(), { format: 'jit', fail });
  const entries = [...zip.entries.values()];
  const prefix = prefixOf(entries, fail);
  refuseDuplicates(entries, fail);
  const has = (name: string) => zip.entries.has(prefix + name);
  if (!has('constants.pkl')) throw fail('not a TorchScript model');
  if (!has('data.pkl')) throw fail('data.pkl is missing');
  if (!has('version') && !has('.data/version')) throw fail('version is missing');
  const enums = new Map<string, Enums>();
  const records: Records = {
    find: (name) => zip.entries.get(prefix + name)?.size,
    budget,
    enumOf: (name) => enums.get(sourceOf(name))?.get(name.slice(name.lastIndexOf('.') + 1)),
  };
  const nameOf = (entry: ZipEntry) => entry.name.slice(prefix.length);
  // The pickles need the enums of the source.
  const isSource = (entry: ZipEntry) => /^code\/.*\.py$/s.test(folded(nameOf(entry)));
  for (const entry of entries.filter(isSource)) {
    const name = nameOf(entry);
    enums.set(folded(name), examineCode(name, zip.data(entry), budget, mayRun, fail));
  }
  for (const entry of entries) {
    const name = nameOf(entry);
    if (isSource(entry)) continue;
    if (!entry.deflated && /^(?:data|constants)\//.test(folded(name))) {
      zip.check(entry); // tensors: not kept in memory
      continue;
    }
    examineEntry(name, zip.data(entry), records, fail);
  }
}

/** libtorch looks up entries by case-insensitive name. */
const folded = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function refuseDuplicates(entries: readonly ZipEntry[], fail: Fail): void {
  const known = new Set<string>();
  for (const { name } of entries) {
    if (known.has(folded(name))) throw fail(`${quote(name)}: another entry has the same name in a different case`);
    known.add(folded(name));
  }
}

function examineEntry(given: string, data: Uint8Array, records: Records, fail: Fail): void {
  const failIn = (what: string) => fail(`${given}: ${what}`);
  const name = folded(given);
  if (name === 'version' || name === '.data/version') {
    const text = Buffer.from(data).toString('latin1').trim();
    if (!/^\d{1,9}$/.test(text)) throw failIn('not a version number');
  } else if (name === 'byteorder') {
    if (Buffer.from(data).toString('latin1').trim() !== 'little') throw failIn('the byte order is not little-endian');
  } else if (name === 'data.pkl') {
    examinePickle(data, { records, folder: 'data', fail: failIn });
  } else if (name === 'constants.pkl') {
    examinePickle(data, { records, folder: 'constants', fail: failIn });
  } else if (name.startsWith('code/') && name.endsWith('pkl')) {
    // The Python source line of each line of code, for error messages.
    examinePickle(data, { records, folder: given.slice(0, given.lastIndexOf('.')), fail: failIn });
  }
}

/** The entry that libtorch reads for a class: "code/__torch__/net.py" for "__torch__.net.Mode". */
function sourceOf(name: string): string {
  return `${folded(`code/${name.slice(0, name.lastIndexOf('.')).replaceAll('.', '/')}`)}.py`;
}

function examineCode(name: string, data: Uint8Array, budget: Budget, mayRun: boolean, fail: Fail): Enums {
  const failIn = (what: string) => fail(`${name}: ${what}`);
  const enums = examineSource(Buffer.from(data).toString('utf8'), failIn, budget);
  if (!mayRun) refuseRunning(Buffer.from(data).toString('latin1'), failIn);
  return enums;
}

/** The folder that contains all entries: "mlp/" for "mlp/data.pkl", "mlp/code/…". */
function prefixOf(entries: readonly ZipEntry[], fail: Fail): string {
  const first = entries[0]?.name ?? '';
  const prefix = first.slice(0, first.indexOf('/') + 1);
  if (prefix === '') throw fail('not a TorchScript model');
  for (const { name } of entries) {
    if (!name.startsWith(prefix)) throw fail(`${name}: is outside the folder ${prefix}`);
  }
  return prefix;
}
