/** Groups paths of the same shape, so that ten thousand keys of one collection are one line. */
import type { Names, Step } from './names';
import type { Paths } from './paths';

/** An object with more keys is treated as a collection. */
const MANY_KEYS = 8;
/** Longer paths are shown without their middle. */
const MAX_STEPS = 12;

export interface Group {
  path: string[];
  tensors: number;
  bytes: number;
  /** Tensors and bytes by site number. */
  sites: Map<number, { tensors: number; bytes: number }>;
}

class Shape {
  readonly children = new Map<string, Shape>();
  /** Number of objects reached by this step. */
  nodes = 0;
  repeats = false;
  tensors = 0;
  bytes = 0;
  readonly sites = new Map<number, { tensors: number; bytes: number }>();

  constructor(
    readonly parent: Shape | undefined,
    public step: Step,
  ) {}

  child(step: Step): Shape {
    // A linked list repeats the same step.
    if (this.parent !== undefined && this.step.text === step.text && this.step.many !== true && !step.many) {
      this.repeats = true;
      return this;
    }
    const key = `${step.many ? '*' : ''}${step.text}`;
    let child = this.children.get(key);
    if (child === undefined) {
      child = new Shape(this, step);
      this.children.set(key, child);
    }
    return child;
  }

  add(site: number, bytes: number): void {
    this.tensors++;
    this.bytes += bytes;
    const known = this.sites.get(site) ?? { tensors: 0, bytes: 0 };
    known.tensors++;
    known.bytes += bytes;
    this.sites.set(site, known);
  }

  /** Adds everything of another shape. */
  merge(other: Shape): void {
    this.nodes += other.nodes;
    this.repeats ||= other.repeats;
    this.tensors += other.tensors;
    this.bytes += other.bytes;
    for (const [site, { tensors, bytes }] of other.sites) {
      const known = this.sites.get(site) ?? { tensors: 0, bytes: 0 };
      this.sites.set(site, { tensors: known.tensors + tensors, bytes: known.bytes + bytes });
    }
    for (const [key, child] of other.children) {
      let own = this.children.get(key);
      if (own === undefined) {
        own = new Shape(this, child.step);
        this.children.set(key, own);
      }
      own.merge(child);
    }
  }

  /** Merges the keys of objects that are used as maps. */
  foldKeys(): void {
    const keys = [...this.children].filter(([, { step }]) => step.property);
    if (keys.length > MANY_KEYS) {
      const folded = new Shape(this, { text: '', many: true });
      for (const [key, child] of keys) {
        folded.merge(child);
        this.children.delete(key);
      }
      this.children.set('*', folded);
    }
    for (const child of this.children.values()) child.foldKeys();
  }
}

export class Groups {
  private readonly top = new Shape(undefined, { text: '' });
  private readonly shapes = new Map<number, Shape>();

  constructor(
    private readonly paths: Paths,
    private readonly names: Names,
  ) {}

  add(node: number, site: number, bytes: number): void {
    this.shapeOf(node).add(site, bytes);
  }

  /** Not recursive, because linked lists may be long. */
  private shapeOf(node: number): Shape {
    const way: number[] = [];
    let at = node;
    while (!this.shapes.has(at) && this.paths.edgeTo(at) >= 0) {
      way.push(at);
      at = this.paths.before(at);
    }
    let shape = this.shapes.get(at) ?? this.top;
    for (let i = way.length - 1; i >= 0; i--) {
      const step = this.names.stepTo(way[i]!);
      if (step !== undefined) {
        shape = (step.begins ? this.top : shape).child(step);
        shape.nodes++;
      }
      this.shapes.set(way[i]!, shape);
    }
    return shape;
  }

  /** All groups, most bytes first. */
  all(): Group[] {
    this.top.foldKeys();
    const groups: Group[] = [];
    const waiting = [this.top];
    for (let shape = waiting.pop(); shape !== undefined; shape = waiting.pop()) {
      waiting.push(...shape.children.values());
      if (shape.tensors === 0) continue;
      const { tensors, bytes, sites } = shape;
      groups.push({ path: pathOf(shape), tensors, bytes, sites });
    }
    return groups.sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
  }
}

function pathOf(last: Shape): string[] {
  const shapes: Shape[] = [];
  for (let shape = last; shape.parent !== undefined; shape = shape.parent) shapes.unshift(shape);
  const path: string[] = [];
  let counted = '';
  for (const { step, nodes, repeats } of shapes) {
    if (step.many) {
      if (counted !== '') path.push(counted);
      counted = `${nodes.toLocaleString('en')} × ${step.text}`;
      continue;
    }
    const text = repeats ? `${step.text} … (a linked list)` : step.text;
    // `40 × .pixels`, `40 × Entry.pixels`; a step that is not a property is separate.
    const joins = counted !== '' && (counted.endsWith(' ') || text.startsWith('.') || text.startsWith('['));
    if (counted !== '' && !joins) path.push(counted);
    path.push(joins ? `${counted}${text}` : text);
    counted = '';
  }
  if (counted !== '') path.push(counted.endsWith(' ') ? `${counted}Tensor` : counted);
  if (path.length === 0) path.push('(unknown)');
  return path.length > MAX_STEPS ? [...path.slice(0, 3), '…', ...path.slice(3 - MAX_STEPS)] : path;
}
