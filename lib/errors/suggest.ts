/** "did you mean": finds the known name nearest to an unknown one, for errors. */

/** Ignores case and underscores: `requires_grad` equals `requiresGrad`. */
const plain = (name: string) => name.replaceAll('_', '').toLowerCase();

/** The edit distance with adjacent transpositions (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(change, rows[i - 1]![j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** The nearest known name, if at most a third of its letters differ. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const wanted = plain(name);
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const there = plain(candidate);
    const most = Math.floor(there.length / 3);
    if (Math.abs(there.length - wanted.length) > most) continue;
    const far = distance(wanted, there);
    if (far <= most && far < least) [best, least] = [candidate, far];
  }
  return best;
}

/** Names in NumPy, TensorFlow.js, JavaScript and Python, and their equivalents here, of which the first known one is used. */
const habits: Readonly<Record<string, readonly string[]>> = {
  axis: ['dim', 'dims', 'dim0'],
  axes: ['dim', 'dims'],
  dimension: ['dim', 'dims'],
  perm: ['dims'],
  keepdims: ['keepdim'],
  shape: ['size', 'shape'],
  dims: ['dim', 'size', 'shape'],
  ddof: ['correction', 'unbiased'],
  num: ['steps'],
  value: ['fillValue', 'other', 'value'],
  amin: ['min'],
  amax: ['max'],
  minimum: ['min'],
  maximum: ['max'],
  minvalue: ['min'],
  maxvalue: ['max'],
  rate: ['p'],
  interval: ['frequency'],
  devicetype: ['device'],
  probability: ['p'],
  ord: ['p'],
  epsilon: ['eps'],
  training: ['train'],
  reverse: ['descending'],
  ascending: ['descending'],
  replace: ['replacement'],
  seed: ['generator'],
  maplocation: ['device'],
  gpu: ['device'],
  type: ['dtype'],
  datatype: ['dtype'],
  depth: ['numClasses'],
  labels: ['target'],
  logits: ['input'],
  x: ['input', 'self'],
  a: ['input', 'self'],
  b: ['other'],
  indices: ['index'],
  filters: ['weight'],
  kernel: ['weight', 'kernelSize'],
  poolsize: ['kernelSize'],
  filtersize: ['kernelSize'],
  strides: ['stride'],
  pad: ['padding'],
  dilations: ['dilation'],
};

/** "; did you mean 'keepdim'?", or nothing. A name from another library takes precedence over similar spelling. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const all = [...known];
  const wanted = plain(name);
  const found =
    all.find((candidate) => plain(candidate) === wanted) ??
    (Object.hasOwn(habits, wanted) ? habits[wanted]!.find((habit) => all.includes(habit)) : undefined) ??
    nearest(name, all);
  return found === undefined || found === name ? '' : `; did you mean '${found}'?`;
}
