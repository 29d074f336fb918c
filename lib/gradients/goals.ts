/**
 * What the backward in progress is for: a checkpoint in its graph (lib/utils/checkpoint.ts) runs a backward of its own, and
 * must compute the same with it.
 */
import { native } from '../native';
import type { Tensor } from '../tensor';
import { restoring } from '../turn';

export interface Goal {
  /** All leaves get what accumulates in them, or these tensors do, or these tensors' gradients are the result. */
  readonly kind: 'leaves' | 'into' | 'grad';
  readonly tensors: readonly Tensor[];
  /** Of 'grad': what checkpoints found for each of `tensors` outside the graph that the backward walks. Null: nothing. */
  found: (Tensor | null)[] | null;
}

/** Gives new names of the tensors that lie behind a checkpoint, or throws, once its graph was freed. */
export interface Anchor {
  readonly savedTensors: (Tensor | null)[];
}

/** One for the environment, as the native table is. */
export interface Goals {
  now: Goal;
  /** Of the checkpoints whose graphs may be there and that find something outside them: see lib/utils/recompute.ts. */
  anchors: Set<WeakRef<Anchor>>;
  /** What checkpoints gave back to the engine, which holds the tensors by itself. */
  given: Tensor[];
}

export const LEAVES: Goal = { kind: 'leaves', tensors: [], found: null };

/** Copies of the library over one addon (Jest loads one per test file) share the table, and so they share this. */
native.goalsNow ??= { now: LEAVES, anchors: new Set(), given: [] };
export const goals: Goals = native.goalsNow;

/** Releases the handles of what was given back. */
export function freeGiven(): void {
  for (const tensor of goals.given.splice(0)) tensor.dispose();
}

/** Runs a backward for `goal`. */
export function aiming<T>(goal: Goal, fn: () => T): T {
  const before = goals.now;
  try {
    if (before.kind === 'leaves' && goal.kind === 'leaves') return fn();
    const undo = () => {
      goals.now = before;
    };
    return restoring(undo, () => {
      goals.now = goal;
      return fn();
    });
  } finally {
    if (goals.given.length > 0) freeGiven();
  }
}

/**
 * Calls `fn` with `tensors` and what makes the engine come to each checkpoint on its way: it leaves out what leads to nothing
 * that it was asked for, and does not know what a checkpoint finds. Their gradients are null.
 */
export function withAnchors<T>(tensors: readonly Tensor[], fn: (all: readonly Tensor[]) => T): T {
  if (goals.anchors.size === 0 || tensors.length === 0) return fn(tensors);
  const behind: Tensor[] = [];
  try {
    for (const ref of goals.anchors) {
      const saved = savedOf(ref.deref());
      if (saved === null) goals.anchors.delete(ref);
      else for (const tensor of saved) if (tensor !== null) behind.push(tensor);
    }
    return fn(behind.length === 0 ? tensors : [...tensors, ...behind]);
  } finally {
    for (const tensor of behind) tensor.dispose();
  }
}

function savedOf(anchor: Anchor | undefined): (Tensor | null)[] | null {
  try {
    return anchor?.savedTensors ?? null;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_TORCH_RUNTIME') return null; // its graph was freed
    throw error;
  }
}
