/** Whose code is what: the file of each function, and which contexts are those of modules. */
import { Edge, type HeapSnapshot, Kind } from './snapshot';
import type { WellKnown } from './well_known';

/** Of contexts around each other; deeper ones are of no module. */
const MAX_LEVELS = 50;

export class Scripts {
  /** A context that belongs to no other: its file, and a function in it. */
  private readonly modules = new Map<number, { file: string; closure: number }>();

  constructor(
    private readonly heap: HeapSnapshot,
    private readonly known: WellKnown,
  ) {
    for (let node = 0; node < heap.nodes; node++) {
      if (heap.kinds[node] !== Kind.closure) continue;
      const top = this.outermost(heap.follow(node, known.context, Edge.internal));
      if (top < 0 || this.modules.has(top)) continue;
      const file = this.fileOf(node);
      if (file !== undefined) this.modules.set(top, { file, closure: node });
    }
  }

  private isContext(node: number): boolean {
    return node >= 0 && this.heap.names[node] === this.known['system / Context'];
  }

  /** The outermost of the contexts around it that is the program's, or -1. */
  private outermost(context: number): number {
    if (!this.isContext(context)) return -1;
    let node = context;
    for (let level = 0; level < MAX_LEVELS; level++) {
      const outer = this.heap.follow(node, this.known.previous, Edge.internal);
      if (!this.isContext(outer)) return node;
      node = outer;
    }
    return -1;
  }

  /** The file of a function; undefined for one of V8's. As V8 has it: a path, a URL, or `node:…`. */
  fileOf(closure: number): string | undefined {
    const { heap, known } = this;
    const shared = heap.follow(closure, known.shared, Edge.internal);
    if (shared < 0) return undefined;
    let script = heap.follow(shared, known.script_or_debug_info);
    if (script < 0) script = heap.follow(shared, known.script);
    if (script < 0 || heap.kinds[script] !== Kind.code) return undefined;
    const name = heap.nameOf(script);
    return name === '' || name.startsWith('system /') || name.startsWith('(') ? undefined : name;
  }

  /** Of a context that is a module's. */
  moduleOf(context: number): { file: string; closure: number } | undefined {
    return this.modules.get(context);
  }

  all(): IterableIterator<[number, { file: string; closure: number }]> {
    return this.modules.entries();
  }
}

/** Node's own, as V8 names its scripts. */
export const isNodes = (file: string): boolean => file.startsWith('node:');
