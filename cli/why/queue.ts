/** A queue of node numbers in blocks, which are used again once they are read. */

const BLOCK = 2 ** 15;

/** Blocks that were read, of all queues: waiting for the collector would cost their memory again. */
const spare: Uint32Array[] = [];

export class NodeQueue {
  private readonly blocks: Uint32Array[] = [];
  private begin = 0;
  private end = BLOCK;

  push(node: number): void {
    if (this.end === BLOCK) {
      this.blocks.push(spare.pop() ?? new Uint32Array(BLOCK));
      this.end = 0;
    }
    this.blocks.at(-1)![this.end++] = node;
  }

  /** The oldest node, or -1. */
  shift(): number {
    const [block] = this.blocks;
    if (block === undefined || (this.blocks.length === 1 && this.begin === this.end)) return -1;
    const node = block[this.begin++]!;
    if (this.begin === BLOCK) {
      spare.push(this.blocks.shift()!);
      this.begin = 0;
      if (this.blocks.length === 0) this.end = BLOCK;
    }
    return node;
  }
}
