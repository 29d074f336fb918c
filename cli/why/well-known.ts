/** Names of V8, Node and the library, looked up once and then compared as numbers. */
import { Edge, type HeapSnapshot, Kind } from './snapshot';

/** The edge to an object's prototype. */
const PROTO = '__proto__';

const NAMES = [
  '_handle',
  '_mark',
  '_token',
  'value',
  'system / Context',
  'system / NativeContext',
  'system / ScriptContextTable',
  'system / SourceTextModule',
  'system / Module',
  'system / Cell',
  'system / PromiseReaction',
  'system / WeakCell',
  'FinalizationRegistry',
  'Promise',
  'Generator',
  'AsyncGenerator',
  'Module',
  'Timeout',
  'Immediate',
  'Map',
  'Set',
  'WeakMap',
  'Array',
  'Object',
  'Tensor',
  'SharedToken',
  'ModuleWrap',
  'url',
  'global_object',
  'MessagePort',
  'Worker',
  'AsyncContextFrame',
  'map',
  'shared',
  'script',
  'script_or_debug_info',
  'feedback_cell',
  'code',
  'scope_info',
  'prototype',
  'constructor',
  'previous',
  'context',
  'extension',
  'function',
  'table',
  'elements',
  'properties',
  'parameters_and_registers',
  'reactions_or_result',
  'exports',
  'filename',
  '_events',
  '_onTimeout',
  '_onImmediate',
  '_repeat',
  '_idleTimeout',
  '_idlePrev',
  '_idleNext',
  'bound_this',
  'listener',
  'Listener',
  'next',
  '(Stack roots)',
  '(Handle scope)',
  '(Relocatable)',
  '(Bootstrapper)',
  '(Compilation cache)',
  '(Debugger)',
] as const;

/** All wanted names. */
export const WANTED: readonly string[] = [...NAMES, PROTO];

type Name = (typeof NAMES)[number];

/** Numbers of the names; -1 for names that the heap does not have. */
export type WellKnown = Record<Name, number> & { readonly proto: number };

export const wellKnownOf = ({ strings }: HeapSnapshot): WellKnown => ({
  ...(Object.fromEntries(NAMES.map((name) => [name, strings.idOf(name)])) as Record<Name, number>),
  proto: strings.idOf(PROTO),
});

/** The global objects: the program's, and those of other contexts (`vm`). */
export function globalsOf(heap: HeapSnapshot, known: WellKnown): Set<number> {
  const globals = new Set<number>();
  const add = (node: number) => {
    if (node >= 0 && heap.kinds[node] === Kind.object) globals.add(node);
  };
  for (let edge = heap.first[0]!; edge < heap.first[1]!; edge++)
    if (heap.edgeKind(edge) === Edge.shortcut) add(heap.targets[edge]!);
  for (let node = 0; node < heap.nodes; node++) {
    if (heap.names[node] !== known['system / NativeContext']) continue;
    // The name depends on the release of V8.
    add(heap.follow(node, known.global_object, Edge.internal));
    add(heap.follow(node, known.extension, Edge.internal));
  }
  return globals;
}
