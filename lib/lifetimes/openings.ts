/** The lines that opened scopes that may wait. Noted only during a recording or a watch, since it captures a stack. */

import { native } from '../addon/native';
import type { AuditNative } from '../addon/recorder';
import { captureStack, type Frame } from '../observe/audit/stack';
import { isWatched } from '../observe/watch';

/** Frames per stack: the line that opened the scope, and its callers. */
const DEPTH = 4;
/** The most scopes remembered at a time; further ones have no line. */
const MAX_STACKS = 10_000;

declare module '../addon/recorder' {
  interface HeapNative {
    /** Shared by all copies of the library that use one addon. */
    scopeOpenings?: Openings;
  }
}

export class Openings {
  /** Stacks by the scope's id. */
  private readonly stacks = new Map<number, readonly Frame[]>();

  note(scope: number, below: (...args: never[]) => unknown): void {
    if (this.stacks.size < MAX_STACKS) this.stacks.set(scope, captureStack(DEPTH, below).frames());
  }

  forget(scope: number): void {
    this.stacks.delete(scope);
  }

  /** Forgets scopes that ended with an enclosing scope. */
  sweep(isOpen: (scope: number) => boolean): void {
    for (const scope of this.stacks.keys()) if (!isOpen(scope)) this.stacks.delete(scope);
  }

  of(scope: number): readonly Frame[] | undefined {
    return this.stacks.get(scope);
  }
}

/** Notes the scope that the caller of `below` opened, during a recording or a watch. */
export function noteOpening(scope: number, below: (...args: never[]) => unknown): void {
  const audit = native as AuditNative;
  if (!isWatched(audit) && audit.recordingHere !== true) return;
  native.scopeOpenings ??= new Openings();
  native.scopeOpenings.note(scope, below);
}

export function forgetOpening(scope: number): void {
  native.scopeOpenings?.forget(scope);
}
