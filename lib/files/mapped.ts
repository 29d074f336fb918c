/** Files as memory: mapped, so that a page is read when it is used. */
import * as fs from 'node:fs';
import { spaces } from '../functions';
import { keep } from '../scopes/movable';
import { ownScope } from '../scopes/scope';
import type { Tensor } from '../tensor';
import type { Bytes } from './zip';

const { fromFile } = spaces['']! as unknown as Record<string, (...args: unknown[]) => Tensor>;

function kindOf(stat: fs.Stats): string {
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a FIFO';
  return stat.isSocket() ? 'a socket' : 'a device';
}

/**
 * A file's mapping, taken once: a file that another one takes the place of meanwhile is still the old one here. It is private:
 * writing to its memory changes this process's pages, never the file. Tensors over it keep it after close().
 */
export class MappedFile implements Bytes {
  readonly size: number;
  #mapped: Tensor | undefined;
  readonly #fail: (what: string) => Error;

  /**
   * Throws Node's error for a file that cannot be opened, and `fail(what)` for what is not a regular file. `copied`: read into
   * memory at once, so that what is written to the file later does not show.
   */
  constructor(path: string, fail: (what: string) => Error, { copied = false } = {}) {
    const regular = (stat: fs.Stats) => {
      if (!stat.isFile()) throw fail(`${path} is no file: expected a regular file, got ${kindOf(stat)}`);
      if (stat.size === 0) throw fail(`${path} is empty`);
      return stat.size;
    };
    regular(fs.statSync(path)); // a device is not even opened
    // Another thing may stand there by now: opened so that a FIFO does not wait for its writer, and looked at again.
    const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    try {
      this.size = regular(fs.fstatSync(fd));
      this.#fail = fail;
      const opened = `/proc/self/fd/${fd}`;
      const name = fs.existsSync(opened) ? opened : path; // no /proc: by its name once more
      this.#mapped = ownScope(() => {
        const mapped = fromFile!(name, false, this.size, { dtype: 'uint8' });
        return keep(copied ? (mapped.clone() as Tensor) : mapped);
      });
    } finally {
      fs.closeSync(fd);
    }
  }

  #memory(): Tensor {
    if (this.#mapped === undefined) throw this.#fail('the file was closed');
    return this.#mapped;
  }

  read(from: number, length: number): Uint8Array {
    return ownScope(() => this.#memory().narrow(0, from, length).toTypedArray() as Uint8Array);
  }

  /** The bytes as a uint8 tensor: a view, or where they are not aligned for elements of `itemSize` bytes a copy. */
  tensor(from: number, length: number, itemSize: number): Tensor {
    const part = this.#memory().narrow(0, from, length) as Tensor;
    return from % itemSize === 0 ? part : part.clone();
  }

  close(): void {
    this.#mapped?.dispose();
    this.#mapped = undefined;
  }
}
