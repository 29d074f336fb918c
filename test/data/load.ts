/** Loaders of the tests with workers, and what makes their datasets there. */
import * as path from 'node:path';
import { torch } from '../support/torch';

export type Loader = any;

export const module_ = path.join(__dirname, 'programs/noisy.mjs');
export const worker = (name: string, ...args: unknown[]) => ({ module: module_, export: name, args });

const loaders: Loader[] = [];
export function load(dataset: any, options: any): Loader {
  const loader = new torch.utils.data.DataLoader(dataset, options);
  loaders.push(loader);
  return loader;
}

export const disposeLoaders = () => Promise.all(loaders.splice(0).map((loader) => loader.dispose()));
