/** Merges stacks into the tree of a flame graph, outermost call first. */

import { bytesOf, functionName, STACK_VALUES, type StackTotals } from '../analysis/stacks';
import type { Frame } from '../capture/records';
import { linesAt } from '../code/text';

/** Name, bytes by value (live, allocated, growth), and called frames. Compact, because it is embedded in the page. */
export type FlameNode = [name: number, live: number, allocated: number, growth: number, children: FlameNode[]];

export interface Flame {
  names: string[];
  /** The number of the file by name, for the colour. */
  files: number[];
  /** The line of source by name; empty if it cannot be read here. */
  sources: string[];
  root: FlameNode;
}

/** The flame graph, and the numbers of a stack's frames in its names, outermost first. */
export interface Flames {
  flame: Flame;
  framesOf(stack: StackTotals): number[];
}

/** Frames below this share of every value are not visible. */
const MIN_SHARE = 0.0005;
const MAX_NODES = 4000;

interface Building {
  name: number;
  bytes: number[];
  children: Map<number, Building>;
}

/** `nameOf` returns the position of a frame. */
export function flameOf(stacks: StackTotals[], nameOf: (frame: Frame) => string): Flames {
  const names: string[] = ['all'];
  const files: number[] = [0];
  const sources: string[] = [''];
  const numbers = new Map<string, number>();
  const fileNumbers = new Map<string, number>();
  const numberOf = (frame: Frame) => {
    const name = frame.line === 0 ? frame.file : `${functionName(frame)}  ${nameOf(frame)}`;
    let number = numbers.get(name);
    if (number === undefined) {
      number = names.push(name) - 1;
      numbers.set(name, number);
      if (!fileNumbers.has(frame.file)) fileNumbers.set(frame.file, fileNumbers.size);
      files.push(fileNumbers.get(frame.file)!);
      sources.push(linesAt(frame.file, frame.line, 0)[0]?.text ?? '');
    }
    return number;
  };
  const framesOf = (stack: StackTotals) => stack.frames.map(numberOf).reverse();
  const root: Building = { name: 0, bytes: STACK_VALUES.map(() => 0), children: new Map() };
  for (const stack of stacks) {
    const bytes = STACK_VALUES.map((value) => Math.max(0, bytesOf(stack, value)));
    let node = root;
    add(node, bytes);
    for (const name of framesOf(stack)) {
      let child = node.children.get(name);
      if (child === undefined) {
        child = { name, bytes: STACK_VALUES.map(() => 0), children: new Map() };
        node.children.set(name, child);
      }
      node = child;
      add(node, bytes);
    }
  }
  return { flame: { names, files, sources, root: prune(root) }, framesOf };
}

function add(node: Building, bytes: number[]): void {
  for (const [i, value] of bytes.entries()) node.bytes[i]! += value;
}

/** Drops frames that are too narrow to be visible, and keeps at most MAX_NODES. */
function prune(root: Building): FlameNode {
  const share = (node: Building) =>
    Math.max(...node.bytes.map((bytes, i) => (root.bytes[i]! === 0 ? 0 : bytes / root.bytes[i]!)));
  const shares: number[] = [];
  const collect = (node: Building) => {
    shares.push(share(node));
    for (const child of node.children.values()) collect(child);
  };
  collect(root);
  const least = Math.max(MIN_SHARE, shares.sort((a, b) => b - a)[MAX_NODES] ?? 0);
  const toNode = (node: Building): FlameNode => {
    const [live, allocated, growth] = node.bytes as [number, number, number];
    const children = [...node.children.values()].filter((child) => share(child) > least).map(toNode);
    return [node.name, live, allocated, growth, children];
  };
  return toNode(root);
}
