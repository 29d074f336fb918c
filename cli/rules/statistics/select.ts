/** Order statistics without sorting: Hoare's selection. */

function swap(values: Float64Array, i: number, j: number): void {
  const value = values[i]!;
  values[i] = values[j]!;
  values[j] = value;
}

/**
 * The value that sorting would put at `index`. Reorders `values`, which hold no NaN, so that none before `index` is larger
 * and none after it is smaller. Only the part from `first` to `last` is looked at and changed.
 */
export function select(values: Float64Array, index: number, first = 0, last = values.length - 1): number {
  let [from, to] = [first, last];
  while (from < to) {
    // The median of three is the pivot: series that rise evenly have slopes that are almost in order.
    const middle = (from + to) >> 1;
    if (values[middle]! < values[from]!) swap(values, middle, from);
    if (values[to]! < values[from]!) swap(values, to, from);
    if (values[to]! < values[middle]!) swap(values, to, middle);
    const pivot = values[middle]!;
    let [i, j] = [from, to];
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i <= j) swap(values, i++, j--);
    }
    // Between j and i there are only values equal to the pivot.
    if (index <= j) to = j;
    else if (index >= i) from = i;
    else break;
  }
  return values[index]!;
}
