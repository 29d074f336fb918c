/**
 * Caches of prepared images: clients retry, and the service should not convert the same image twice. There are two
 * implementations, and one of them leaks.
 */
import { createHash } from 'node:crypto';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';

export interface ImageCache {
  /** The image as a tensor. It belongs to the cache. */
  image(requestId: string, pixels: readonly number[]): Tensor;
}

/**
 * The leak: request ids are unique, so entries are never found again, and they are never removed. Without keep() the
 * tensor would be freed with its request's scope; with keep() it lives as long as the map.
 */
export class UnboundedCache implements ImageCache {
  readonly #images = new Map<string, Tensor>();

  image(requestId: string, pixels: readonly number[]): Tensor {
    let image = this.#images.get(requestId);
    if (image === undefined) {
      image = torch.keep(torch.tensor(pixels));
      this.#images.set(requestId, image);
    }
    return image;
  }
}

/** The fix: the content is the key, so images are found again, and the least recently used one is evicted. */
export class BoundedCache implements ImageCache {
  /** In the order of their last use. */
  readonly #images = new Map<string, Tensor>();

  constructor(readonly capacity: number) {}

  image(_requestId: string, pixels: readonly number[]): Tensor {
    const key = createHash('sha256').update(Float32Array.from(pixels)).digest('base64');
    const image = this.#images.get(key) ?? torch.keep(torch.tensor(pixels));
    this.#images.delete(key);
    this.#images.set(key, image);
    if (this.#images.size > this.capacity) this.#dropOldest();
    return image;
  }

  #dropOldest(): void {
    for (const [key, image] of this.#images) {
      this.#images.delete(key);
      image.dispose();
      return;
    }
  }
}
