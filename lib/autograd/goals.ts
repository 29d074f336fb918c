/**
 * The goal of the backward in progress: a checkpoint in its graph (lib/utils/checkpoint.ts) runs a nested backward, which
 * must have the same goal.
 */
import { native } from '../addon/native';
import { Weak } from '../addon/weak';
import { restoring } from '../errors/restoring';
import type { Tensor } from '../tensor/tensor';

export interface Goal {
  /** 'leaves': accumulate into all leaves; 'into': accumulate into `tensors`; 'grad': return the gradients of `tensors`. */
  readonly kind: 'leaves' | 'into' | 'grad';
  readonly tensors: readonly Tensor[];
  /** For 'grad': gradients of `tensors` that checkpoints found outside the graph of the backward. Null: none. */
  found: (Tensor | null)[] | null;
}

/** Gives new handles of the tensors behind a checkpoint, or throws if its graph was freed. */
export interface Anchor {
  readonly savedTensors: (Tensor | null)[];
}

declare module '../addon/interface' {
  interface Native {
    /** The goal of the backward in progress, shared by all copies of the library that use one addon. */
    goalsNow?: Goals;
  }
}

/** One per environment, like the native table. */
export interface Goals {
  now: Goal;
  /** Anchors of checkpoints whose graphs may still exist: see lib/utils/recompute.ts. */
  anchors: Set<Weak<Anchor>>;
  /** The number of anchors at which those of freed graphs are removed. */
  most: number;
  /** Gradients that checkpoints returned to the engine, which holds the tensors itself. */
  given: Tensor[];
}

const FEW = 64;

export const LEAVES: Goal = { kind: 'leaves', tensors: [], found: null };

/** Shared by all copies of the library that use one addon (Jest loads one per test file), like the native table. */
native.goalsNow ??= { now: LEAVES, anchors: new Set(), most: FEW, given: [] };
export const goals: Goals = native.goalsNow;

/** Notes the anchor of a checkpoint. */
export function noteAnchor(anchor: Anchor): void {
  const { anchors } = goals;
  if (anchors.size >= goals.most) {
    for (const ref of anchors) if (ref.get() === undefined) anchors.delete(ref);
    goals.most = Math.max(FEW, 2 * anchors.size);
  }
  anchors.add(new Weak(anchor));
}

/** Releases the handles of the returned gradients. */
export function freeGiven(): void {
  for (const tensor of goals.given.splice(0)) tensor.dispose();
}

/** Runs a backward for `goal`. */
export function withGoal<T>(goal: Goal, fn: () => T): T {
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
 * Calls `fn` with `tensors` and the anchors that make the engine visit every checkpoint: otherwise it skips nodes that do
 * not lead to the requested tensors, and it cannot know what a checkpoint finds. The anchors' gradients are null.
 */
export function withAnchors<T>(tensors: readonly Tensor[], fn: (all: readonly Tensor[]) => T): T {
  if (goals.anchors.size === 0 || tensors.length === 0) return fn(tensors);
  const behind: Tensor[] = [];
  try {
    for (const ref of goals.anchors) {
      const saved = savedOf(ref.get());
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
