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

/** One for the environment, as the native table is. */
export interface Goals {
  now: Goal;
  /** Whether a checkpoint was made that finds something outside the graph. */
  mayFind: boolean;
  /** What checkpoints gave back to the engine, which holds the tensors by itself. */
  given: Tensor[];
}

export const LEAVES: Goal = { kind: 'leaves', tensors: [], found: null };

/** Copies of the library over one addon (Jest loads one per test file) share the table, and so they share this. */
native.goalsNow ??= { now: LEAVES, mayFind: false, given: [] };
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
