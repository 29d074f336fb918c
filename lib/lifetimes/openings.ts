/** The lines that opened scopes that may wait. Noted only during a recording or a watch, since it captures a stack. */

import { native } from '../addon/native';
import type { AuditNative } from '../addon/recorder';
import { captureStack, type Frame } from '../observe/audit/stack';
import { numberOf } from '../observe/recording';
import { isWatched } from '../observe/watch';

/** Frames per stack: the line that opened the scope, and its callers. */
const DEPTH = 4;
/** The most scopes remembered at a time; further ones have no line. */
const MAX_STACKS = 10_000;
/** The most stacks whose frames are kept; those of further ones are read from V8 each time. */
const MAX_KNOWN = 1000;

declare module '../addon/recorder' {
  interface HeapNative {
    /** Shared by all copies of the library that use one addon. */
    scopeOpenings?: Openings;
  }
}

export class Openings {
  /** Stacks by the scope's id. */
  private readonly stacks = new Map<number, readonly Frame[]>();
  /** Stacks by the hash of their positions. */
  private readonly known = new Map<number, readonly Frame[]>();

  note(scope: number, below: (...args: never[]) => unknown): void {
    if (this.stacks.size >= MAX_STACKS) return;
    const { key, frames } = captureStack(DEPTH, below);
    let stack = this.known.get(key);
    if (stack === undefined) {
      stack = frames();
      if (this.known.size < MAX_KNOWN) this.known.set(key, stack);
    }
    this.stacks.set(scope, stack);
    const audit = native as AuditNative;
    if (audit.recordingHere === true) audit.auditScope(scope, numberOf(audit, { key, frames: () => [...stack] }));
  }

  forget(scope: number): void {
    if (this.stacks.delete(scope)) (native as AuditNative).auditScope(scope, 0);
  }

  /** Forgets scopes that ended with an enclosing scope. */
  sweep(isOpen: (scope: number) => boolean): void {
    for (const scope of this.stacks.keys()) if (!isOpen(scope)) this.forget(scope);
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
