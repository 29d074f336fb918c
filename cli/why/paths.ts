/**
 * The shortest path to each object. Paths prefer roots that a program names (variables of modules, the global object,
 * exports) over V8's roots, and edges of the program (properties, elements, variables) over V8's own (hidden classes,
 * feedback, code, prototypes). Weak references do not hold; the value in a WeakMap is held by its key, not by the map.
 */
import type { EsModules } from './es-modules';
import { NodeQueue } from './queue';
import { isNodes, type Scripts } from './scripts';
import { Edge, type HeapSnapshot, Kind } from './snapshot';
import type { WellKnown } from './well-known';

/** Edges of a lower cost are all taken before those of a higher one. */
enum Cost {
  good,
  poor,
  bad,
  never,
}

const NONE = 0xffffffff;
const ROOT = NONE - 1;

export class Paths {
  /** The edge by which a node was reached; ROOT for a root, NONE for nodes that were not reached. */
  private readonly via: Uint32Array;
  /** Reached nodes that have edges to follow. */
  private waiting = new NodeQueue();
  /** Names of V8's own edges. */
  private readonly poor: ReadonlySet<number>;
  private readonly badRoots: ReadonlySet<number>;

  constructor(
    private readonly heap: HeapSnapshot,
    private readonly known: WellKnown,
    scripts: Scripts,
    modules: EsModules,
    globals: ReadonlySet<number>,
    isOwn: (file: string) => boolean,
  ) {
    const { nodes } = heap;
    this.via = new Uint32Array(nodes).fill(NONE);
    this.poor = new Set([
      known.map,
      known.proto,
      known.shared,
      known.script,
      known.script_or_debug_info,
      known.feedback_cell,
      known.code,
      known.scope_info,
      known.prototype,
    ]);
    this.badRoots = new Set(
      (
        [
          '(Stack roots)',
          '(Handle scope)',
          '(Relocatable)',
          '(Bootstrapper)',
          '(Compilation cache)',
          '(Debugger)',
        ] as const
      ).map((name) => known[name]),
    );
    for (const [context, { file }] of scripts.all()) if (!isNodes(file) && !isOwn(file)) this.begin(context);
    for (const [module, file] of modules.all()) if (!isOwn(file)) this.begin(module);
    for (const node of globals) this.begin(node);
    this.beginAtModules();
    this.spread(Cost.good);
    this.begin(0);
    for (const most of [Cost.good, Cost.poor, Cost.bad]) this.spread(most);
  }

  private beginAtModules(): void {
    const { heap, known } = this;
    if (known.Module < 0 || known.exports < 0) return;
    for (let node = 0; node < heap.nodes; node++) {
      if (heap.kinds[node] !== Kind.object || heap.names[node] !== known.Module) continue;
      if (heap.edgeTo(node, known.exports, Edge.property) < 0 || heap.edgeTo(node, known.filename, Edge.property) < 0)
        continue;
      this.begin(node);
    }
  }

  private begin(node: number): void {
    if (this.via[node] !== NONE) return;
    this.via[node] = ROOT;
    this.waiting.push(node);
  }

  /** Extends the paths of all reached nodes by edges of at most this cost. */
  private spread(most: Cost): void {
    const { heap, via, waiting } = this;
    // Nodes are visited again if they have edges of a higher cost.
    const again = new NodeQueue();
    for (let node = waiting.shift(); node >= 0; node = waiting.shift()) {
      let dearer = false;
      for (let edge = heap.first[node]!; edge < heap.first[node + 1]!; edge++) {
        const target = heap.targets[edge]!;
        if (via[target] !== NONE) continue;
        const cost = this.costOf(node, edge);
        if (cost > most) {
          dearer ||= cost < Cost.never;
          continue;
        }
        via[target] = edge;
        waiting.push(target);
      }
      if (dearer) again.push(node);
    }
    this.waiting = again;
  }

  private costOf(node: number, edge: number): Cost {
    const { heap } = this;
    const kind = heap.edgeKind(edge);
    if (kind === Edge.weak || kind === Edge.other) return Cost.never;
    const name = heap.edgeName(edge);
    const nodeKind = heap.kinds[node]!;
    // The table of a WeakMap: its key holds the value.
    if (kind === Edge.internal && nodeKind === Kind.array && heap.strings.isPair(name)) return Cost.never;
    if (nodeKind === Kind.synthetic) return this.badRoots.has(heap.names[node]!) ? Cost.bad : Cost.good;
    if (nodeKind === Kind.shape || nodeKind === Kind.code) return Cost.bad;
    if (kind === Edge.property || kind === Edge.internal) return this.poor.has(name) ? Cost.poor : Cost.good;
    return Cost.good;
  }

  isReached(node: number): boolean {
    return this.via[node] !== NONE;
  }

  /** The edge by which the node was reached, or -1 for a root. */
  edgeTo(node: number): number {
    const edge = this.via[node]!;
    return edge >= ROOT ? -1 : edge;
  }

  /** The source of that edge. */
  before(node: number): number {
    return this.heap.sourceOf(this.via[node]!);
  }
}
