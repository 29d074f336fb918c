/** `run --why`: the files to which the program writes its heap when it ends, and their analysis. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { printError } from '../terminal/writers';
import { analyseHeap } from './analyst';
import type { Answer } from './holder';
import { openPrivate } from './private-file';

const REASONS =
  'it was ended by a signal or process.abort, it outlived the program that was run, its main thread never loaded libtorch-node, the disk is full, or --permission denies it to write files';

/** Child processes whose heaps are kept, at most: each is some hundred megabytes of disk for a large program. */
const MAX_CHILDREN = 16;
/** Of a child's token (lib/observe/audit/heap.ts). */
const CLAIM_BYTES = 16;

/** What the program is told, in the form of lib/addon/recorder.ts: the paths by which its processes open the files. */
interface Settings {
  why: Places;
  whyChildren?: { claims: string; files: Places[] };
}

interface Places {
  snapshot: string;
  facts: string;
}

interface Files {
  snapshot: number;
  facts: number;
}

/** Owns the files until `close`. */
export class HeapAtEnd {
  private readonly open: number[] = [];
  private readonly own: Files;
  private readonly children: Files[];
  private readonly claims: number | undefined;

  /** @param followsChildren also of child processes */
  constructor(followsChildren: boolean) {
    try {
      this.own = this.pair();
      this.children = Array.from({ length: followsChildren ? MAX_CHILDREN : 0 }, () => this.pair());
      this.claims = followsChildren ? this.file() : undefined;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private file(): number {
    const fd = openPrivate();
    this.open.push(fd);
    return fd;
  }

  private pair(): Files {
    return { snapshot: this.file(), facts: this.file() };
  }

  get settings(): Settings {
    const place = (fd: number) => `/proc/${process.pid}/fd/${fd}`;
    const places = ({ snapshot, facts }: Files) => ({ snapshot: place(snapshot), facts: place(facts) });
    const why = places(this.own);
    if (this.claims === undefined) return { why };
    return { why, whyChildren: { claims: place(this.claims), files: this.children.map(places) } };
  }

  /**
   * Called after the program has ended. Reports missing heaps on stderr. `earlier`: what was found while it ran, which stands
   * for an end that has no heap, or holds nothing.
   */
  async answers(earlier: Answer[] | undefined): Promise<Answer[] | undefined> {
    const found: Answer[] = [];
    const add = async ({ snapshot, facts }: Files, whose: string) => {
      try {
        if (fs.fstatSync(facts).size === 0) throw new UsageError(`${whose} wrote no heap snapshot: ${REASONS}`);
        found.push(await analyseHeap(snapshot, facts, {}));
      } catch (error) {
        // Whatever failed, the report is printed without these holders.
        if (earlier === undefined) printError(`leak-audit: --why: ${(error as Error).message}\n`);
      }
    };
    const claimed = this.claims === undefined ? 0 : fs.fstatSync(this.claims).size / CLAIM_BYTES;
    await add(this.own, this.claims === undefined ? 'the program' : 'the first process');
    for (const files of this.children.slice(0, claimed)) await add(files, 'a child process');
    if (claimed > MAX_CHILDREN)
      printError(
        `leak-audit: --why: ${claimed} child processes ended with live tensors; the first ${MAX_CHILDREN} are included\n`,
      );
    if (earlier !== undefined && found.every(({ heldBy }) => heldBy.length === 0)) return earlier;
    return found.length > 0 ? found : undefined;
  }

  close(): void {
    for (const fd of this.open) fs.closeSync(fd);
  }
}
