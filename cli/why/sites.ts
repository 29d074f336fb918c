/** The lines that made tensors, in the original source. */
import type { Redaction } from '../analysis/redact';
import { NO_STACK, sourceStack } from '../analysis/sites';
import type { Frame } from '../capture/records';
import { SourceMaps } from '../code/source-maps';
import type { Facts } from './facts';

export interface SiteShare extends Frame {
  tensors: number;
  bytes: number;
}

export interface AnswerOptions {
  folder: string;
  redaction?: Redaction;
  /** Only tensors made at this `file:line` or `file:line:column`. */
  site?: string;
}

/** Whether `wanted`, a `file:line` or `file:line:column`, names this position; the file may be without its folders. */
export function isAt({ file, line, column }: Frame, wanted: string): boolean {
  const place = `${file}:${line}`;
  return [place, `${place}:${column}`].some((one) => one === wanted || one.endsWith(`/${wanted.replace(/^\.\//, '')}`));
}

export class Sites {
  private readonly maps = new SourceMaps();
  private readonly frames = new Map<number, Frame>();

  constructor(
    private readonly facts: Facts,
    private readonly options: AnswerOptions,
  ) {}

  frameOf(site: number): Frame {
    let frame = this.frames.get(site);
    if (frame === undefined) {
      frame = sourceStack(this.facts.stacks.get(site) ?? [], this.maps)[0] ?? NO_STACK;
      this.frames.set(site, frame);
    }
    return frame;
  }

  /** The source position of a stack that has no site number. */
  top(stack: Frame[]): Frame | undefined {
    const frame = sourceStack(stack, this.maps)[0];
    return frame === undefined || this.options.redaction === undefined ? frame : this.options.redaction.frame(frame);
  }

  isWanted(site: number): boolean {
    const { site: wanted } = this.options;
    return wanted === undefined || isAt(this.frameOf(site), wanted);
  }

  shares(all: ReadonlyMap<number, { tensors: number; bytes: number }>): SiteShare[] {
    const { redaction } = this.options;
    const byPlace = new Map<string, SiteShare>();
    for (const [site, { tensors, bytes }] of all) {
      const frame = this.frameOf(site);
      if (frame === NO_STACK) continue;
      const key = `${frame.file}:${frame.line}:${frame.column}`;
      const share = byPlace.get(key) ?? {
        ...(redaction === undefined ? frame : redaction.frame(frame)),
        tensors: 0,
        bytes: 0,
      };
      share.tensors += tensors;
      share.bytes += bytes;
      byPlace.set(key, share);
    }
    return [...byPlace.values()].sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
  }
}
