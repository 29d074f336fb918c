/** A V8 heap snapshot as a graph in columns, with about 10 bytes per edge. */
import * as fs from 'node:fs';
import { ByteReader, malformed } from './bytes';
import { Strings } from './strings';

/** Kinds of nodes; their numbers in files differ by release of V8. */
export enum Kind {
  other,
  object,
  closure,
  array,
  code,
  synthetic,
  shape,
  number,
  string,
  hidden,
  native,
}
export enum Edge {
  other,
  context,
  element,
  property,
  internal,
  hidden,
  shortcut,
  weak,
}

/** The eight kinds of edges take three bits; names and indices take the others. */
const KIND_SHIFT = 29;
const KIND_UNIT = 2 ** KIND_SHIFT;

const KINDS: Record<string, Kind> = {
  object: Kind.object,
  closure: Kind.closure,
  array: Kind.array,
  code: Kind.code,
  synthetic: Kind.synthetic,
  'object shape': Kind.shape,
  number: Kind.number,
  string: Kind.string,
  'concatenated string': Kind.string,
  'sliced string': Kind.string,
  hidden: Kind.hidden,
  native: Kind.native,
};

interface Meta {
  node_fields: string[];
  node_types: [string[], ...unknown[]];
  edge_fields: string[];
  edge_types: [string[], ...unknown[]];
  location_fields?: string[];
}

/** The layout of nodes and edges in the file. */
interface Layout {
  nodes: number;
  edges: number;
  kinds: Kind[];
  edgeKinds: Edge[];
  nodeFields: { width: number; type: number; name: number; edges: number };
  edgeFields: { width: number; type: number; name: number; to: number };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

function layoutOf(head: unknown, fileBytes: number): Layout {
  const { meta, node_count: nodes, edge_count: edges } = (head ?? {}) as Record<string, unknown>;
  const { node_fields, node_types, edge_fields, edge_types } = (meta ?? {}) as Partial<Meta>;
  if (!isTexts(node_fields) || !isTexts(edge_fields) || !isTexts(node_types?.[0]) || !isTexts(edge_types?.[0]))
    throw malformed('the description of its fields is missing');
  const counts = [nodes, edges].map((count) =>
    Number.isSafeInteger(count) && (count as number) >= 0 ? Number(count) : -1,
  );
  // A number and its comma take two bytes. Larger counts are rejected before memory is allocated for them.
  const least = 2 * (counts[0]! * node_fields.length + counts[1]! * edge_fields.length);
  if (counts.includes(-1) || least > fileBytes + 64) throw malformed('the file is too small for its counts');
  const place = (fields: string[], name: string) => {
    const at = fields.indexOf(name);
    if (at < 0) throw malformed(`field ${name} is missing`);
    return at;
  };
  return {
    nodes: counts[0]!,
    edges: counts[1]!,
    kinds: node_types[0].map((name) => KINDS[name] ?? Kind.other),
    edgeKinds: edge_types[0].map((name) => (Edge as unknown as Record<string, Edge>)[name] ?? Edge.other),
    nodeFields: {
      width: node_fields.length,
      type: place(node_fields, 'type'),
      name: place(node_fields, 'name'),
      edges: place(node_fields, 'edge_count'),
    },
    edgeFields: {
      width: edge_fields.length,
      type: place(edge_fields, 'type'),
      name: place(edge_fields, 'name_or_index'),
      to: place(edge_fields, 'to_node'),
    },
  };
}

/** The position of a function in its source. */
interface Location {
  line: number;
  column: number;
}

export class HeapSnapshot {
  readonly kinds: Uint8Array;
  readonly names: Uint32Array;
  /** Node i has the edges from `first[i]` to `first[i + 1]`. */
  readonly first: Uint32Array;
  /** Kind and name of each edge, packed. */
  private readonly edges: Uint32Array;
  readonly targets: Uint32Array;
  strings!: Strings;
  private readonly locations = new Map<number, Location>();

  private constructor({ nodes, edges }: Layout) {
    this.kinds = new Uint8Array(nodes);
    this.names = new Uint32Array(nodes);
    this.first = new Uint32Array(nodes + 1);
    this.edges = new Uint32Array(edges);
    this.targets = new Uint32Array(edges);
  }

  edgeKind(edge: number): Edge {
    return (this.edges[edge]! >>> KIND_SHIFT) as Edge;
  }

  /** The number of a string; for elements and hidden edges, an index. */
  edgeName(edge: number): number {
    return this.edges[edge]! & (KIND_UNIT - 1);
  }

  /** The node that has the edge. */
  sourceOf(edge: number): number {
    let [low, high] = [0, this.nodes];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.first[middle + 1]! > edge) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  get nodes(): number {
    return this.kinds.length;
  }

  /** Reads a snapshot. `fd` must stay open, because names are read on demand. `wanted`: names that are looked up by text. */
  static read(fd: number, wanted: readonly string[]): HeapSnapshot {
    const reader = new ByteReader(fd);
    reader.expect('{');
    if (reader.key() !== 'snapshot') throw malformed('expected the key "snapshot" first');
    const layout = layoutOf(reader.value(), fs.fstatSync(fd).size);
    const snapshot = new HeapSnapshot(layout);
    const seen = new Set<string>();
    for (let key = reader.key(); key !== undefined; key = reader.key()) {
      seen.add(key);
      if (key === 'nodes') snapshot.readNodes(reader, layout);
      else if (key === 'edges') snapshot.readEdges(reader, layout);
      else if (key === 'locations') snapshot.readLocations(reader, layout);
      else if (key === 'strings') snapshot.strings = Strings.read(reader, fd, wanted);
      else reader.skip();
    }
    for (const part of ['nodes', 'edges', 'strings']) if (!seen.has(part)) throw malformed(`${part} is missing`);
    return snapshot;
  }

  private readNodes(reader: ByteReader, { nodes, edges, kinds, nodeFields: fields }: Layout): void {
    reader.expect('[');
    const row = new Float64Array(fields.width);
    let edge = 0;
    for (let node = 0; node < nodes; node++) {
      for (let i = 0; i < fields.width; i++) row[i] = reader.number();
      this.kinds[node] = kinds[row[fields.type]!] ?? Kind.other;
      this.names[node] = row[fields.name]!;
      this.first[node] = edge;
      edge += row[fields.edges]!;
      if (edge > edges) throw malformed('more edges than its count');
    }
    this.first[nodes] = edge;
    if (reader.number() !== -1) throw malformed('more objects than its count');
  }

  private readEdges(reader: ByteReader, { nodes, edges, edgeKinds, nodeFields, edgeFields: fields }: Layout): void {
    reader.expect('[');
    const row = new Float64Array(fields.width);
    for (let edge = 0; edge < edges; edge++) {
      for (let i = 0; i < fields.width; i++) row[i] = reader.number();
      const target = row[fields.to]! / nodeFields.width;
      if (!Number.isInteger(target) || target >= nodes || target < 0) throw malformed('an edge has an invalid target');
      const kind = edgeKinds[row[fields.type]!] ?? Edge.other;
      this.edges[edge] = kind * KIND_UNIT + Math.min(row[fields.name]!, KIND_UNIT - 1);
      this.targets[edge] = target;
    }
    if (reader.number() !== -1) throw malformed('more edges than its count');
  }

  /** Rows of object, script, line, column; only those of functions are kept. */
  private readLocations(reader: ByteReader, { nodeFields }: Layout): void {
    reader.expect('[');
    for (let index = reader.number(); index >= 0; index = reader.number()) {
      const node = index / nodeFields.width;
      reader.number();
      const [line, column] = [Math.max(0, reader.number()) + 1, Math.max(0, reader.number()) + 1];
      if (this.kinds[node] === Kind.closure) this.locations.set(node, { line, column });
    }
  }

  /** The position of a function, counted from 1. */
  locationOf(node: number): Location | undefined {
    return this.locations.get(node);
  }

  nameOf(node: number): string {
    return this.strings.at(this.names[node]!);
  }

  /** The first edge with this name, or -1. `name`: the number of a string. */
  edgeTo(node: number, name: number, kind?: Edge): number {
    for (let edge = this.first[node]!; edge < this.first[node + 1]!; edge++) {
      if (this.edgeName(edge) !== name) continue;
      const found = this.edgeKind(edge);
      if (found === Edge.element || found === Edge.hidden) continue; // its number is an index
      if (kind === undefined || found === kind) return edge;
    }
    return -1;
  }

  /** The target of that edge, or -1. */
  follow(node: number, name: number, kind?: Edge): number {
    const edge = this.edgeTo(node, name, kind);
    return edge < 0 ? -1 : this.targets[edge]!;
  }
}
