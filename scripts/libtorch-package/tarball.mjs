/** Writes a folder as npm's tarballs are: the same bytes from the same files, whoever packs them and when. */
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { StepError } from '../steps/errors.mjs';

const BLOCK = 512;
/** The time that npm gives to all files: 26 October 1985. */
const TIME = 499162500;

function filesBelow(folder, below = '') {
  return readdirSync(path.join(folder, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = path.posix.join(below, entry.name);
      if (entry.isDirectory()) return filesBelow(folder, name);
      if (!entry.isFile()) throw new StepError(`${name} is not a plain file; npm would leave it out.`);
      return [name];
    });
}

function header(name, size) {
  const block = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(name) > 100) throw new StepError(`${name}: expected at most 100 bytes`);
  const octal = (value, at, length) => block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  block.write(name, 0);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(TIME, 136, 12);
  block.fill(' ', 148, 156);
  block.write('0', 156);
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** @param {string} folder @param {string} file of the archive, not compressed */
export function writeTar(folder, file) {
  const out = openSync(file, 'w');
  try {
    for (const name of filesBelow(folder)) {
      const bytes = readFileSync(path.join(folder, name));
      writeSync(out, header(`package/${name}`, statSync(path.join(folder, name)).size));
      for (let at = 0; at < bytes.length; ) at += writeSync(out, bytes, at);
      writeSync(out, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK));
    }
    writeSync(out, Buffer.alloc(2 * BLOCK));
  } finally {
    closeSync(out);
  }
}
