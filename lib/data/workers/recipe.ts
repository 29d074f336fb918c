/** How a worker gets the dataset: the datasets of torch.utils.data by their parts, others by a module. */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { argumentError, codedError } from '../../errors/errors';
import { disposeAll } from '../../lifetimes/movable';
import {
  ArrayDataset,
  ChainDataset,
  ConcatDataset,
  hasRows,
  isIterable,
  isMapDataset,
  mapDatasetOf,
  RowDataset,
  Subset,
  TensorDataset,
} from '../dataset';
import type { WorkerModule } from '../options';
import { StackDataset } from '../stack-dataset';
import { discard, type Packed, pack as packedOf, unpack } from './packed';

const FN = 'utils.data.DataLoader';

export type Recipe =
  | { readonly kind: 'tensors' | 'rows' | 'array' | 'values'; readonly packed: Packed }
  | { readonly kind: 'subset'; readonly of: Recipe; readonly indices: ArrayLike<number> }
  | { readonly kind: 'concat' | 'chain'; readonly of: readonly Recipe[] }
  | { readonly kind: 'stack'; readonly of: readonly Recipe[]; readonly names: readonly string[] | null }
  /** An export of a module: called with arguments, or given the properties of the loader's dataset. */
  | { readonly kind: 'made' | 'copied'; readonly module: string; readonly name: string; readonly packed: Packed };

const isOf = (value: object, type: { prototype: object }): boolean => Object.getPrototypeOf(value) === type.prototype;

function urlOf(name: string, module: unknown): string {
  const text = typeof module === 'string' ? module : (module as URL).href;
  if (isAbsolute(text)) return pathToFileURL(text).href;
  if (typeof text === 'string' && text.startsWith('file:')) return text;
  throw argumentError(FN, name, 'a file: URL or an absolute path', module);
}

/** Classes name their module in `static module`. */
interface Named {
  readonly module?: unknown;
  readonly name: string;
}

/** What makes the dataset in a worker. The tokens in it live until `discardRecipe`. */
export function recipeOf(dataset: object, worker: Required<WorkerModule> | null): Recipe {
  const made: Packed[] = [];
  let whole = false;
  try {
    const recipe = recipeWith(dataset, worker, (value) => {
      const packed = packedOf(value);
      made.push(packed);
      return packed;
    });
    whole = true;
    return recipe;
  } finally {
    if (!whole) for (const packed of made) discard(packed);
  }
}

function recipeWith(dataset: object, worker: Required<WorkerModule> | null, pack: (value: unknown) => Packed): Recipe {
  if (worker !== null) {
    const module = urlOf('worker', worker.module);
    return { kind: 'made', module, name: worker.export, packed: pack(worker.args) };
  }
  if (isOf(dataset, TensorDataset)) return { kind: 'tensors', packed: pack((dataset as TensorDataset).tensors) };
  if (isOf(dataset, RowDataset)) return { kind: 'rows', packed: pack([(dataset as RowDataset).rows]) };
  if (isOf(dataset, ArrayDataset)) return { kind: 'array', packed: pack((dataset as ArrayDataset<unknown>).samples) };
  if (isOf(dataset, Subset)) {
    const { dataset: inner, indices } = dataset as Subset;
    return { kind: 'subset', of: recipeWith(inner, null, pack), indices };
  }
  if (isOf(dataset, ConcatDataset) || isOf(dataset, ChainDataset)) {
    const kind = isOf(dataset, ConcatDataset) ? 'concat' : 'chain';
    return { kind, of: (dataset as ConcatDataset).datasets.map((one) => recipeWith(one, null, pack)) };
  }
  if (isOf(dataset, StackDataset)) {
    const { datasets, names } = dataset as StackDataset;
    return { kind: 'stack', of: datasets.map((one) => recipeWith(one, null, pack)), names };
  }
  if (Array.isArray(dataset) || dataset instanceof Set) return { kind: 'values', packed: pack(dataset) };
  const made = (dataset as { constructor?: Named }).constructor;
  if (made?.module !== undefined) {
    const packed = pack({ ...dataset });
    return { kind: 'copied', module: urlOf(`${made.name}.module`, made.module), name: made.name, packed };
  }
  const how =
    'a class with `static module = import.meta.url`, or the option `worker` for a module that makes the dataset';
  throw argumentError(FN, 'dataset', `with workers, a dataset of torch.utils.data, ${how}`, dataset);
}

/** Calls `visit` for each message in a recipe. */
function eachPacked(recipe: Recipe, visit: (packed: Packed) => void): void {
  if ('packed' in recipe) visit(recipe.packed);
  else for (const inner of 'indices' in recipe ? [recipe.of] : recipe.of) eachPacked(inner, visit);
}

export const discardRecipe = (recipe: Recipe): void => eachPacked(recipe, discard);

/** Refuses the value of a recipe that cannot be posted, by its name. */
export function demandPostable(recipe: Recipe, isArgument: boolean): void {
  eachPacked(recipe, ({ value }) => {
    for (const [key, inner] of value instanceof Set ? [...value].entries() : Object.entries(value as object)) {
      try {
        structuredClone(inner);
      } catch {
        const at = Array.isArray(value) || value instanceof Set ? `[${key}]` : `.${key}`;
        const expected = isArgument
          ? 'a value that can be posted to a worker'
          : 'a value that can be posted to a worker, or the option `worker` for a module that makes the dataset';
        throw argumentError(FN, `${isArgument ? 'worker.args' : 'dataset'}${at}`, expected, inner);
      }
    }
  });
}

const isClass = (value: unknown): value is new (...args: unknown[]) => object =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

async function exported(url: string, name: string): Promise<unknown> {
  const space = (await import(url)) as Record<string, unknown>;
  // The exports of a CommonJS module are its default export.
  const inner = space.default as Record<string, unknown> | undefined;
  const value =
    name === 'default' ? (inner?.__esModule === true ? inner.default : inner) : (space[name] ?? inner?.[name]);
  if (value !== undefined) return value;
  const only = isClass(inner) && inner.name === name ? inner : undefined;
  if (only !== undefined) return only;
  throw codedError(Error, 'ERR_TORCH_DATA', `${FN}: ${url} has no export '${name}'`);
}

const stackOf = (names: readonly string[] | null, parts: any[]): StackDataset =>
  names === null
    ? new StackDataset(...parts)
    : new StackDataset(Object.fromEntries(names.map((name, i) => [name, parts[i]])));

/** The dataset. `kept`: datasets of modules, by their recipes, which outlive a pass. */
export async function datasetOf(recipe: Recipe, owned: unknown[]): Promise<any> {
  const own = (packed: Packed): any => {
    const value = unpack(packed, false);
    owned.push(value);
    return value;
  };
  switch (recipe.kind) {
    case 'tensors':
      return new TensorDataset(...own(recipe.packed));
    case 'rows':
      return new RowDataset(own(recipe.packed)[0]);
    case 'array':
      return new ArrayDataset(own(recipe.packed));
    case 'values':
      return own(recipe.packed);
    case 'subset':
      return new Subset(await datasetOf(recipe.of, owned), recipe.indices);
    case 'concat':
    case 'chain':
    case 'stack': {
      const parts: any[] = [];
      for (const inner of recipe.of) parts.push(await datasetOf(inner, owned));
      if (recipe.kind === 'stack') return stackOf(recipe.names, parts);
      return recipe.kind === 'concat' ? new ConcatDataset(parts) : new ChainDataset(parts);
    }
    case 'copied': {
      const made = (await exported(recipe.module, recipe.name)) as { prototype: object };
      return Object.assign(Object.create(made.prototype), own(recipe.packed));
    }
    default: {
      const value = await exported(recipe.module, recipe.name);
      const args = own(recipe.packed) as unknown[];
      if (isClass(value)) return new value(...args);
      return typeof value === 'function' ? await (value as (...args: unknown[]) => unknown)(...args) : value;
    }
  }
}

/** What a module made, as a dataset: arrays and tensors are some too. */
export function demandMade(recipe: Recipe, made: any, isMap: boolean): any {
  if (recipe.kind !== 'made') return made;
  if (isMap ? isMapDataset(made) : isIterable(made)) return made;
  if (isMap && (Array.isArray(made) || hasRows(made))) return mapDatasetOf(FN, made);
  const dataset = isMap ? 'a dataset with getItem(index)' : 'an iterable dataset';
  throw argumentError(FN, 'worker.export', `the name of ${dataset}, or of a class or function that makes one`, made);
}

export const disposeOwned = (owned: unknown[]): void => disposeAll(owned.splice(0));
