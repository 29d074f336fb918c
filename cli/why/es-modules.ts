/** ES modules: V8 keeps their exports in cells, by name, in a table of the module. */
import { Edge, type HeapSnapshot, Kind } from './snapshot';
import type { WellKnown } from './well-known';

/** How a node was reached. */
interface Route {
  /** The edge, or -1 for a root. */
  edgeTo(node: number): number;
  /** The source of that edge. */
  before(node: number): number;
}

export class EsModules {
  /** The URL of the file by the module's object. */
  private readonly files = new Map<number, string>();

  constructor(
    private readonly heap: HeapSnapshot,
    known: WellKnown,
  ) {
    if (known.ModuleWrap < 0 || known.url < 0) return;
    for (let node = 0; node < heap.nodes; node++) {
      if (heap.kinds[node] !== Kind.object || heap.names[node] !== known.ModuleWrap) continue;
      const url = heap.follow(node, known.url, Edge.property);
      if (url < 0 || heap.kinds[url] !== Kind.string) continue;
      for (let edge = heap.first[node]!; edge < heap.first[node + 1]!; edge++) {
        const target = heap.targets[edge]!;
        if (heap.names[target] === known['system / SourceTextModule']) this.files.set(target, heap.nameOf(url));
      }
    }
  }

  all(): IterableIterator<[number, string]> {
    return this.files.entries();
  }

  /** The export of a cell; undefined for other cells. */
  exportOf(cell: number, paths: Route): { name: string; file: string } | undefined {
    const { heap } = this;
    const edge = paths.edgeTo(cell);
    if (edge < 0) return undefined;
    const table = paths.before(cell);
    const file = paths.edgeTo(table) < 0 ? undefined : this.files.get(paths.before(table));
    if (file === undefined || heap.edgeKind(edge) !== Edge.internal) return undefined;
    const key = keyBefore(heap, table, edge);
    return key === undefined ? undefined : { name: key, file };
  }
}

/** The key of a value in V8's tables, where it is right before the value. Undefined if it is not a text. */
export function keyBefore(heap: HeapSnapshot, table: number, edge: number): string | undefined {
  const place = Number(heap.strings.at(heap.edgeName(edge)));
  for (let at = heap.first[table]!; at < heap.first[table + 1]!; at++) {
    const key = heap.targets[at]!;
    if (heap.kinds[key] !== Kind.string || heap.edgeKind(at) !== Edge.internal) continue;
    if (Number(heap.strings.at(heap.edgeName(at))) === place - 1) return heap.nameOf(key);
  }
  return undefined;
}
