/** The file of each function, and the contexts of modules. */
import { Edge, type HeapSnapshot, Kind } from './snapshot';
import type { WellKnown } from './well-known';

/** Limit on nested contexts; deeper ones are not assigned to a module. */
const MAX_LEVELS = 50;

export class Scripts {
  /** Outermost contexts, with their file and a function in it. */
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

  /** The outermost enclosing context, or -1. */
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

  /** The file of a function: a path, a URL, or `node:…`; undefined for V8's own functions. */
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

  /** The module of an outermost context. */
  moduleOf(context: number): { file: string; closure: number } | undefined {
    return this.modules.get(context);
  }

  all(): IterableIterator<[number, { file: string; closure: number }]> {
    return this.modules.entries();
  }
}

/** Whether the file is one of Node's own scripts. */
export const isNodes = (file: string): boolean => file.startsWith('node:');
