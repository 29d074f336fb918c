/**
 * `leak-audit run --wasm`: loaded into the program before its own code (NODE_OPTIONS). Notes each WebAssembly.Memory with the
 * stack that made it, and its size in rounds. Without the option it is not loaded, and nothing is replaced. It imports no package.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import type { Frame } from '../capture/records';
import { Memories, type Memory } from './memories';
import type { WasmSettings } from './records';
import { captureStack } from './stack';

const VARIABLE = 'LIBTORCH_NODE_WASM';

type Constructor = new (...args: any[]) => object;
interface Wasm {
  Memory: Constructor & { prototype: Memory };
  Instance: Constructor;
  instantiate(...args: unknown[]): Promise<unknown>;
  instantiateStreaming?(...args: unknown[]): Promise<unknown>;
}

/** Replaces what makes memories. */
class Replacement {
  // The program may replace these.
  private readonly Memory: Wasm['Memory'];
  private readonly Instance: Constructor;

  constructor(
    private readonly wasm: Wasm,
    private readonly memories: Memories,
  ) {
    ({ Memory: this.Memory, Instance: this.Instance } = wasm);
  }

  install(): void {
    const { wasm } = this;
    this.replaceMemory();
    this.replaceInstance();
    wasm.instantiate = this.noted(wasm.instantiate);
    if (wasm.instantiateStreaming !== undefined) wasm.instantiateStreaming = this.noted(wasm.instantiateStreaming);
  }

  private replaceMemory(): void {
    const { Memory, memories } = this;
    const replaced: Constructor = new Proxy(Memory, {
      construct: (target, args, newTarget) => {
        const memory = Reflect.construct(target, args, newTarget === replaced ? target : newTarget) as object;
        this.note(memory, captureStack());
        return memory;
      },
    });
    const { grow } = Memory.prototype;
    Memory.prototype.grow = function (this: Memory, pages: number) {
      const before = grow.call(this, pages);
      memories.roundIfLate();
      return before;
    };
    this.wasm.Memory = replaced as Wasm['Memory'];
    Memory.prototype.constructor = replaced;
  }

  private replaceInstance(): void {
    const { Instance } = this;
    const replaced: Constructor = new Proxy(Instance, {
      construct: (target, args, newTarget) => {
        const instance = Reflect.construct(target, args, newTarget === replaced ? target : newTarget) as object;
        this.noteExports(instance, args[1], captureStack());
        return instance;
      },
    });
    this.wasm.Instance = replaced;
    Instance.prototype.constructor = replaced;
  }

  private noted(call: (...args: unknown[]) => Promise<unknown>): (...args: unknown[]) => Promise<unknown> {
    return (...args) => {
      const stack = captureStack();
      return call.apply(this.wasm, args).then((result) => {
        this.noteExports((result as { instance?: unknown }).instance ?? result, args[1], stack);
        return result;
      });
    };
  }

  private note(memory: unknown, stack: Frame[]): void {
    if (memory instanceof this.Memory) this.memories.note(memory as Memory, stack);
  }

  private noteExports(instance: unknown, imports: unknown, stack: Frame[]): void {
    if (!(instance instanceof this.Instance)) return;
    // A memory that was imported was made elsewhere: by `new Memory`, or in another thread.
    try {
      for (const group of Object.values((imports ?? {}) as Record<string, unknown>)) {
        for (const value of Object.values((group ?? {}) as Record<string, unknown>)) {
          if (value instanceof this.Memory) this.memories.ignore(value);
        }
      }
    } catch {
      // A getter of the program that throws must not fail an instance that was made.
    }
    for (const value of Object.values((instance as unknown as { exports: object }).exports)) this.note(value, stack);
  }
}

const text = (process.env[VARIABLE] ?? getEnvironmentData(VARIABLE)) as string | undefined;
if (text !== undefined && typeof WebAssembly === 'object') {
  setEnvironmentData(VARIABLE, text); // for worker threads with an environment of their own
  const memories = new Memories(JSON.parse(text) as WasmSettings);
  new Replacement(WebAssembly as unknown as Wasm, memories).install();
  memories.start();
}

/** Node has it; its types are in the library of the DOM. */
declare const WebAssembly: unknown;
