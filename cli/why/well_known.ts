/** Names that V8, Node and the library give: looked up once, then compared as numbers. */
import type { HeapSnapshot } from './snapshot';

/** What leads to an object's prototype. */
const PROTO = '__proto__';

const NAMES = [
  '_handle',
  'value',
  'system / Context',
  'system / NativeContext',
  'system / ScriptContextTable',
  'system / SourceTextModule',
  'system / Module',
  'system / Cell',
  'system / PromiseReaction',
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

/** All that is looked for. */
export const WANTED: readonly string[] = [...NAMES, PROTO];

type Name = (typeof NAMES)[number];

/** Numbers of texts; -1 where the heap has no such text. */
export type WellKnown = Record<Name, number> & { readonly proto: number };

export const wellKnownOf = ({ strings }: HeapSnapshot): WellKnown => ({
  ...(Object.fromEntries(NAMES.map((name) => [name, strings.idOf(name)])) as Record<Name, number>),
  proto: strings.idOf(PROTO),
});
