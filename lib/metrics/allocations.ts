/**
 * Publishes large allocations on the node:diagnostics_channel `libtorch-node:allocation`. Does nothing without subscribers.
 */
import * as diagnosticsChannel from 'node:diagnostics_channel';
import type { Device, DType } from '../../types/base';
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { shapeOf } from '../addon/shape';
import { argumentError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { asUser } from '../lifetimes/user-code';
import { frameText, stackText } from '../observe/audit/positions';
import type { Frame, Stack } from '../observe/audit/stack';

export const CHANNEL = 'libtorch-node:allocation';
const DEFAULT_THRESHOLD = 16 * 1024 * 1024;

/** The message on the channel `libtorch-node:allocation`: a tensor with a large new storage was made. */
export interface AllocationEvent {
  /** Bytes of the new storage. */
  readonly bytes: number;
  readonly dtype: DType;
  readonly device: Device;
  /** Null for a nested tensor, which has no single shape. */
  readonly shape: number[] | null;
  /** "fn (file:line:column)": the line of the program that made it, through source maps; null if unknown. */
  readonly site: string | null;
  /** The lines of its stack. */
  readonly stack: string;
}

/** Positions are looked up in source maps on first access. */
class Allocation implements AllocationEvent {
  readonly #frames: readonly Frame[];

  constructor(
    readonly bytes: number,
    readonly dtype: DType,
    readonly device: Device,
    readonly shape: number[] | null,
    frames: readonly Frame[],
  ) {
    this.#frames = frames;
  }

  get site(): string | null {
    const [first] = this.#frames;
    return first === undefined ? null : frameText(first);
  }

  get stack(): string {
    return stackText(this.#frames);
  }
}

declare module '../addon/recorder' {
  interface AuditNative {
    /** Notifies subscribers of large allocations. */
    announcer?: Announcer;
  }
}

/** One per thread, shared by all copies of the library that use its addon. */
export interface Announcer {
  threshold: number | null;
  readonly on: boolean;
  update(): void;
  /** Publishes the large allocations since the last call. */
  announce(stack: Stack): void;
}

function makeAnnouncer(): Announcer {
  const channel = diagnosticsChannel.channel(CHANNEL);
  let announcing = false;
  const announcer = {
    threshold: DEFAULT_THRESHOLD as number | null,
    on: false,
    update(): void {
      announcer.on = announcer.threshold !== null && channel.hasSubscribers;
      native.watchLarge(announcer.on ? announcer.threshold! : -1);
    },
    announce(stack: Stack): void {
      const handles = native.watchTakeLarge();
      // Allocations by a subscriber are not published.
      if (handles.length === 0 || announcing) return;
      const frames = stack.frames();
      const events = Array.from(handles)
        .filter((handle) => native.isLive(handle))
        .map((handle) => eventOf(handle, frames));
      const undo = () => {
        announcing = false;
      };
      restoring(undo, () => {
        announcing = true;
        asUser(() => {
          for (const event of events) channel.publish(event);
        });
      });
    },
  };
  // Channels do not report new subscribers, but all ways to subscribe go through these methods.
  for (const name of ['subscribe', 'unsubscribe', 'bindStore', 'unbindStore'] as const) {
    Object.defineProperty(channel, name, {
      configurable: true,
      writable: true,
      value(this: object, ...args: unknown[]): unknown {
        // Subscribing changes the channel's prototype, and with it these methods.
        const own = Object.getPrototypeOf(this)[name] as (...args: unknown[]) => unknown;
        try {
          return own.apply(this, args);
        } finally {
          announcer.update();
        }
      },
    });
  }
  announcer.update(); // there may be subscribers already
  return announcer;
}

function eventOf(handle: number, frames: readonly Frame[]): Allocation {
  let shape: number[] | null = null;
  try {
    shape = shapeOf(handle);
  } catch {
    // nested
  }
  const dtype = dtypeName(native.dtype(handle));
  return new Allocation(native.storageBytes(handle), dtype, native.device(handle) as Device, shape, frames);
}

native.announcer ??= makeAnnouncer();
const announcer = native.announcer;

/**
 * The size in bytes from which new storages are published on the diagnostics channel `libtorch-node:allocation` (default
 * 16 MiB), on this thread; null for none. Costs nothing without subscribers.
 */
export function setAllocationThreshold(bytes: number | null): void {
  if (bytes !== null && (!Number.isSafeInteger(bytes) || bytes < 0)) {
    throw argumentError('setAllocationThreshold', 'bytes', 'an integer of 0 or more bytes, or null', bytes);
  }
  announcer.threshold = bytes;
  announcer.update();
}

/** The threshold of `setAllocationThreshold`. */
export const getAllocationThreshold = (): number | null => announcer.threshold;
