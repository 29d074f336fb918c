export interface Elf {
  machine: string;
  soname: string | null;
  needed: string[];
  runpath: string | null;
  strings(): string;
}
/** The file is not a shared library that this process can load. */
export class ElfError extends Error {
  /** The message without the file's name. */
  problem: string;
}
/** `arch`: the processor that the file must be for, this process's by default. */
export function readElf(file: string, arch?: string): Elf;
