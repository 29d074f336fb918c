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
export function readElf(file: string): Elf;
