/** `run --why`: the files to which the program writes its heap when it ends, and their analysis. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { printError } from '../terminal/writers';
import { analyseHeap } from './analyst';
import type { Answer } from './holder';
import { openPrivate } from './private-file';

/** Owns both files until `close`. */
export class HeapAtEnd {
  private readonly snapshot = openPrivate();
  private readonly facts: number;

  constructor() {
    try {
      this.facts = openPrivate();
    } catch (error) {
      fs.closeSync(this.snapshot);
      throw error;
    }
  }

  /** The paths by which the program opens them. */
  get files(): { snapshot: string; facts: string } {
    const place = (fd: number) => `/proc/${process.pid}/fd/${fd}`;
    return { snapshot: place(this.snapshot), facts: place(this.facts) };
  }

  /** Called after the program has ended. Reports a missing heap on stderr. */
  async answers(): Promise<Answer[] | undefined> {
    try {
      if (fs.fstatSync(this.facts).size === 0)
        throw new UsageError(
          'the program wrote no heap snapshot: it was ended by a signal or process.abort, it never loaded libtorch-node, or the disk is full',
        );
      return [await analyseHeap(this.snapshot, this.facts, {})];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      printError(`leak-audit: --why: ${error.message}\n`);
      return undefined;
    }
  }

  close(): void {
    fs.closeSync(this.snapshot);
    fs.closeSync(this.facts);
  }
}
