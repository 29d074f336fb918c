/** The exact 95% interval of a share (Clopper and Pearson, 1934): the shares at which k or more, or k or fewer, have 2.5%. */

/** The probability of at least k of n at a share of p. */
function atLeast(k, n, p) {
  let [sum, term] = [0, (1 - p) ** n];
  for (let i = 0; i < k; i++) {
    sum += term;
    term *= ((n - i) / (i + 1)) * (p / (1 - p));
  }
  return 1 - sum;
}

/** The share at which the increasing function reaches `wanted`. */
function solve(increasing, wanted) {
  let [low, high] = [0, 1];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (increasing(middle) < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

export function exactInterval(k, n) {
  if (n === 0) return [0, 1];
  const low = k === 0 ? 0 : solve((p) => atLeast(k, n, p), 0.025);
  const high = k === n ? 1 : solve((p) => atLeast(k + 1, n, p), 0.975);
  return [low, high];
}
