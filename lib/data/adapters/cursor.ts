/** The place in a list of files that are read in order. */
import { isPlainObject } from '../../addon/options';
import { argumentError } from '../../errors/errors';

export interface Cursor {
  /** The number of the file. */
  file: number;
  /** The row, or the byte, after the last sample. */
  at: number;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The cursors of a dataset's passes. */
export class Place {
  /** Of the last pass. */
  #now: Cursor = { file: 0, at: 0 };
  /** Where the next pass begins. */
  #loaded: Cursor | null = null;

  /** The cursor of a new pass, which moves it. */
  begin(): Cursor {
    this.#now = this.#loaded ?? { file: 0, at: 0 };
    this.#loaded = null;
    return this.#now;
  }

  /** The pass has come to the end of the files: the next one begins at the first. */
  end(cursor: Cursor): void {
    cursor.file = cursor.at = 0;
  }

  state(): Cursor {
    return { ...(this.#loaded ?? this.#now) };
  }

  load(fn: string, state: unknown, files: number): void {
    const { file, at } = (isPlainObject(state) ? state : {}) as Partial<Cursor>;
    if (!isCount(file) || file > files || !isCount(at)) {
      throw argumentError(fn, 'state', `a place in ${files} files`, state);
    }
    this.#loaded = { file, at };
  }
}

/** The places of datasets. Not a property: a worker's copy of a dataset is made of its properties alone. */
const places = new WeakMap<object, Place>();

export function placeOf(dataset: object): Place {
  const place = places.get(dataset) ?? new Place();
  places.set(dataset, place);
  return place;
}
