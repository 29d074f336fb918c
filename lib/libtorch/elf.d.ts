export interface Elf {
  machine: string;
  soname: string | null;
  needed: string[];
  runpath: string | null;
  strings(): string;
}
/** The file is no shared library that this process could load. */
export class ElfError extends Error {
  /** The message without the file's name. */
  problem: string;
}
export function readElf(file: string): Elf;
