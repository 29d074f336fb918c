/** Random choices from a seed: the same on every machine, and independent for each call of a run. */
'use strict';

/** Mixes two numbers into 32 bits (the finalizer of MurmurHash3). */
function mixed(seed, index) {
  let h = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The choices of call `index` of the run with `seed` (mulberry32). */
function randomOf(seed, index) {
  let state = mixed(seed, index);
  /** A number from 0 to 1, without 1. */
  function next() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (count) => Math.floor(next() * count);
  return { below, chance: (probability) => next() < probability, pick: (list) => list[below(list.length)] };
}

module.exports = { randomOf };
