/** Reading the header of a shared library: any bytes give a result or an ElfError. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import fc from 'fast-check';
import { ROOT } from '../support/torch';
import { folder } from './folder';

const { readElf, ElfError } = require('../../lib/libtorch/elf') as typeof import('../../lib/libtorch/elf');
const addon = path.join(ROOT, 'build/Release/libtorch_node.node');

const problemOf = (file: string): string => {
  try {
    readElf(file);
  } catch (error) {
    if (error instanceof ElfError) return error.problem;
    throw error;
  }
  return 'none';
};

it('reads the needs of an addon', () => {
  const { soname, needed, machine } = readElf(addon);
  expect({ soname, machine }).toEqual({ soname: 'libtorch_node.node', machine: process.arch });
  expect(needed.filter((name) => name.startsWith('libtorch_cpu'))).toHaveLength(1);
  expect(readElf(addon).strings()).toContain('\0napi_register_module_v1\0');
});

it('refuses files that cannot be loaded, each with its reason', () => {
  const at = folder();
  const bytes = fs.readFileSync(addon);
  const write = (name: string, content: Uint8Array | string) => {
    fs.writeFileSync(path.join(at, name), content);
    return path.join(at, name);
  };
  const changed = (offset: number, value: number) => {
    const copy = Buffer.from(bytes);
    copy[offset] = value;
    return copy;
  };
  expect(problemOf(write('half', bytes.subarray(0, bytes.length / 2)))).toMatch(
    /^is truncated: it should have \d+ bytes/,
  );
  expect(problemOf(write('most', bytes.subarray(0, -1)))).toMatch(/^is truncated/);
  expect(problemOf(write('text', 'GROUP ( libtorch_cpu.so.1.13 libc10.so.1.13 ), a script of the linker'))).toContain(
    'no ELF header',
  );
  expect(problemOf(write('empty', ''))).toContain('it has 0 bytes');
  expect(problemOf(write('arm', changed(18, 183)))).toBe(
    `is for another processor: it is for arm64, this Node is for ${process.arch}`,
  );
  const arm = readElf(path.join(at, 'arm'), 'arm64');
  expect({ machine: arm.machine, needed: arm.needed }).toEqual({ machine: 'arm64', needed: readElf(addon).needed });
  expect(() => readElf(addon, 'riscv64')).toThrow(`it is for ${process.arch}, expected riscv64`);
  expect(problemOf(write('odd', changed(18, 99)))).toContain('machine 99');
  expect(problemOf(write('big', changed(5, 2)))).toContain('big-endian');
  expect(problemOf(write('narrow', changed(4, 1)))).toBe('is a library of 32 bits');
  expect(problemOf(at)).toContain('it has 0 bytes');
  expect(problemOf(path.join(at, 'none'))).toBe('cannot be read: ENOENT');
});

it('survives any damage to the header and to its tables', () => {
  const file = path.join(folder(), 'damaged');
  const bytes = fs.readFileSync(addon);
  const dynamicAt = bytes.indexOf(Buffer.from('libtorch_cpu.so')) & ~7;
  const anywhere = fc.oneof(fc.nat(0x3ff), fc.integer({ min: dynamicAt, max: dynamicAt + 64 }));
  const damage = fc.array(fc.tuple(anywhere, fc.nat(255)), { minLength: 1, maxLength: 8 });
  fs.writeFileSync(file, bytes);
  fc.assert(
    fc.property(damage, (changes) => {
      const fd = fs.openSync(file, 'r+');
      for (const [offset, value] of changes) fs.writeSync(fd, Buffer.from([value]), 0, 1, offset);
      problemOf(file); // throws errors other than ElfError
      for (const [offset] of changes) fs.writeSync(fd, bytes, offset, 1, offset);
      fs.closeSync(fd);
    }),
    { numRuns: 2000 },
  );
});
