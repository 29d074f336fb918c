/**
 * Looks at all of a model's archive before libtorch does, whose readers trust what they read: the zip's structure, the sum of
 * every entry, the pickles, the tensors' sizes and the shape of the source. What a source does is not looked at.
 */
import { openStrictly } from '../files/strict-zip';
import type { Bytes, ZipEntry } from '../files/zip';
import { examinePickle, type Records } from './pickles';
import { examineSource } from './source';

export type Fail = (what: string) => Error;

/** Throws what `fail` makes of the first thing that is wrong. */
export function examine(bytes: Bytes, fail: Fail): void {
  const zip = openStrictly(bytes, fail);
  const entries = [...zip.entries.values()];
  const prefix = prefixOf(entries, fail);
  const has = (name: string) => zip.entries.has(prefix + name);
  if (!has('constants.pkl')) {
    throw fail(
      has('data.pkl') ? 'a file of torch.save, not a TorchScript model: use torch.load' : 'no TorchScript model',
    );
  }
  if (has('model.json')) throw fail('a model of PyTorch 1.1 or earlier: save it anew with a later one');
  if (!has('data.pkl')) throw fail('data.pkl is missing');
  if (!has('version') && !has('.data/version')) throw fail('version is missing');
  const records: Records = { find: (name) => zip.entries.get(prefix + name)?.size };
  for (const entry of entries) {
    const name = entry.name.slice(prefix.length);
    if (!entry.deflated && name.startsWith('data/')) {
      zip.check(entry); // tensors: not held
      continue;
    }
    examineEntry(name, zip.data(entry), records, fail);
  }
}

function examineEntry(name: string, data: Uint8Array, records: Records, fail: Fail): void {
  const failIn = (what: string) => fail(`${name}: ${what}`);
  if (name === 'version' || name === '.data/version') {
    const text = Buffer.from(data).toString('latin1').trim();
    if (!/^\d{1,9}$/.test(text)) throw failIn('no version number');
  } else if (name === 'byteorder') {
    if (Buffer.from(data).toString('latin1').trim() !== 'little') throw failIn("not this machine's");
  } else if (name === 'data.pkl') {
    examinePickle(data, { records, folder: 'data', fail: failIn });
  } else if (name === 'constants.pkl') {
    examinePickle(data, { records, folder: 'constants', fail: failIn });
  } else if (name.startsWith('code/') && name.endsWith('pkl')) {
    // Where in Python's source each line of the code was, which errors tell.
    examinePickle(data, { records, folder: name.slice(0, name.lastIndexOf('.')), fail: failIn });
  } else if (name.startsWith('code/') && name.endsWith('.py')) {
    examineSource(Buffer.from(data).toString('utf8'), failIn);
  }
}

/** "mlp/" of "mlp/data.pkl", "mlp/code/…": the folder that all is in. */
function prefixOf(entries: readonly ZipEntry[], fail: Fail): string {
  const first = entries[0]?.name ?? '';
  const prefix = first.slice(0, first.indexOf('/') + 1);
  if (prefix === '') throw fail('no TorchScript model');
  for (const { name } of entries) {
    if (!name.startsWith(prefix)) throw fail(`${name}: lies outside the folder ${prefix}`);
  }
  return prefix;
}
