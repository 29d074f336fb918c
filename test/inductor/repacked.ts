/** Packages of other contents, made of the entries of models.ts's. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { LIB } from '../support/torch';
import { pathOf } from './models';

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));

export const zipOf = (bytes: Buffer) =>
  new ZipReader({ size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) }, Error);

/** The entries of packages, as one archive with names and bytes from `change`. Returns its path. */
export function repacked(
  name: string,
  models: string[],
  change: (model: string, entry: string, data: Buffer) => string,
): string {
  const parts: Uint8Array[] = [];
  const zip = new ZipWriter({ put: (bytes: Uint8Array) => parts.push(Buffer.from(bytes)) });
  const names = new Set<string>();
  for (const model of models) {
    const from = zipOf(fs.readFileSync(pathOf(model)));
    for (const entry of from.entries.values()) {
      const data = Buffer.from(from.data(entry));
      const to = change(model, entry.name, data);
      if (!names.has(to)) zip.add(to, data);
      names.add(to);
    }
  }
  zip.end();
  fs.writeFileSync(pathOf(name), Buffer.concat(parts));
  return pathOf(name);
}
