/** Simulated sites: families of leaks and of non-leaks. Family and seed identify a series. */
import type { SiteHistory } from '../../cli/rules/verdict';

/** Mulberry32: the same series in every run. */
export function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const ROUND_MS = 250;

/** `tensors(i)` live tensors of `size` bytes after round i, in which the program did `load(i)` work. */
export function history(
  rounds: number,
  tensors: (i: number) => number,
  size = 4096,
  load: (i: number) => number = () => 1,
): SiteHistory {
  let work = 0;
  const liveTensors = Array.from({ length: rounds }, (_, i) => Math.max(0, Math.round(tensors(i))));
  return {
    ms: liveTensors.map((_, i) => (i + 1) * ROUND_MS),
    liveTensors,
    liveBytes: liveTensors.map((n) => n * size),
    work: liveTensors.map((_, i) => {
      work += 100 * load(i);
      return Math.round(work);
    }),
  };
}

type Random = () => number;
/** Roughly normal, mean 0, standard deviation 1. */
const normal = (rand: Random) => rand() + rand() + rand() + rand() + rand() + rand() - 3;
const between = (rand: Random, low: number, high: number) => low + (high - low) * rand();

type Load = (i: number) => number;
/** Live tensors by round, and the program's load if it varies. */
type Family = (rand: Random, rounds: number) => Load | [Load, Load];

/** Endless cumulative sums of `next`. */
function sum(next: (i: number) => number): (i: number) => number {
  let held = 0;
  return (i) => {
    held += next(i);
    return held;
  };
}

/** Garbage of a line: accumulates, and is freed by collections at irregular times. */
function garbage(rand: Random, most: number): () => number {
  let [held, until] = [0, most * between(rand, 0.5, 1)];
  const rate = most / between(rand, 3, 9);
  return () => {
    held += rate * between(rand, 0.5, 1.5);
    if (held > until) [held, until] = [rate * rand(), most * between(rand, 0.5, 1)];
    return held;
  };
}

export const LEAKS: Record<string, Family> = {
  'steady, 1–6 a round': (rand) => {
    const rate = between(rand, 1, 6);
    const held = sum(() => rate * between(rand, 0.5, 1.5));
    return (i) => held(i) + 10 * rand();
  },
  'slow, 0.5–1 a round': (rand) => {
    const rate = between(rand, 0.5, 1);
    const held = sum(() => rate * 2 * rand());
    return (i) => held(i) + 2 * rand();
  },
  'in bursts, every 3–6 rounds': (rand) => {
    const chance = 1 / between(rand, 3, 6);
    const held = sum(() => (rand() < chance ? between(rand, 5, 25) : 0));
    return (i) => held(i) + 3 * rand();
  },
  'under garbage worth 30 rounds of the leak': (rand) => {
    const rate = between(rand, 2, 5);
    const pile = garbage(rand, 30 * rate);
    const held = sum(() => rate * between(rand, 0.5, 1.5));
    return (i) => held(i) + pile();
  },
  'with load that comes and goes': (rand, rounds) => {
    const [rate, period] = [between(rand, 2, 6), rounds / between(rand, 1, 4)];
    const load: Load = (i) => 1 + Math.sin((2 * Math.PI * i) / period);
    const held = sum((i) => rate * load(i) * 2 * rand());
    return [(i) => held(i) + 5 * rand(), load];
  },
  'ever faster': (rand, rounds) => {
    const most = between(rand, 100, 500);
    return (i) => most * (i / rounds) ** 2 + 5 * rand();
  },
  'after a one-time peak': (rand, rounds) => {
    const [rate, at] = [between(rand, 2, 6), between(rand, 0.3, 0.7) * rounds];
    const held = sum(() => rate * between(rand, 0.5, 1.5));
    return (i) => held(i) + (Math.abs(i - at) < 2 ? 500 : 5 * rand());
  },
};

export const NON_LEAKS: Record<string, Family> = {
  noise: (rand) => {
    const level = between(rand, 20, 500);
    return () => level + 0.3 * level * normal(rand);
  },
  'a queue (AR(1), 0.6–0.95)': (rand) => {
    const [level, memory] = [between(rand, 50, 500), between(rand, 0.6, 0.95)];
    let off = 0;
    return () => {
      off = memory * off + 0.1 * level * normal(rand);
      return level + off;
    };
  },
  'garbage between collections': (rand) => {
    const pile = garbage(rand, between(rand, 30, 1000));
    return () => 20 + pile();
  },
  'periodic batches, 2–7 in a run': (rand, rounds) => {
    const [period, phase] = [rounds / between(rand, 2, 7), rand()];
    const rate = between(rand, 2, 20);
    return (i) => 10 + (((i / period + phase) % 1) * period * rate + 2 * rand());
  },
  'cache, exponential': (rand, rounds) => {
    const [capacity, time] = [between(rand, 50, 550), (rounds / 48) * between(rand, 2, 10)];
    return (i) => capacity * (1 - Math.exp(-i / time)) + 2 * rand();
  },
  'cache, in a straight line until it is full': (rand, rounds) => {
    const [capacity, full] = [between(rand, 50, 550), rounds * between(rand, 0.1, 0.65)];
    return (i) => capacity * Math.min(1, i / full) + 2 * rand();
  },
  'cache of random keys': (rand, rounds) => {
    const keys = Math.round(between(rand, 100, 400));
    const seen = new Set<number>();
    const hits = Math.ceil((keys / rounds) * between(rand, 3, 6));
    return () => {
      for (let k = 0; k < hits; k++) seen.add(Math.floor(rand() * keys));
      return seen.size;
    };
  },
  'late weights, 1–3 times': (rand, rounds) => {
    const times = Array.from({ length: 1 + Math.floor(3 * rand()) }, () => rand() * rounds);
    return (i) => 20 * times.filter((time) => time < i).length + 2 * rand();
  },
  'one-time peaks': (rand, rounds) => {
    const times = [rand() * rounds, rand() * rounds];
    return (i) => 20 + (times.some((time) => Math.abs(time - i) < 3) ? 1000 : 2 * rand());
  },
  'load that grows and stays': (rand, rounds) => {
    const [level, until] = [between(rand, 20, 200), rounds * between(rand, 0.2, 0.6)];
    const load: Load = (i) => Math.min(1, (i + 1) / until);
    return [(i) => level * load(i) + 0.2 * level * normal(rand), load];
  },
};

/** Neither: a random walk. Counted as not a leak; listed because it is the hardest case. */
export const RANDOM_WALK: Family = (rand) => {
  let held = between(rand, 100, 300);
  return () => {
    held = Math.max(0, held + 10 * normal(rand));
    return held;
  };
};

/**
 * A sample of fixed size in which ever fewer requests replace an element: the line that replaces fills ever more slowly, under
 * what it replaced since the last collection.
 */
export const RESERVOIR: Family = (rand, rounds) => {
  const size = Math.round(between(rand, 100, 400));
  const offered = Math.ceil((size / rounds) * between(rand, 4, 12));
  const gap = Math.round(between(rand, 5, 12));
  const replaced = new Set<number>();
  let [seen, waiting] = [size, 0];
  return (i) => {
    if (i % gap === 0) waiting = 0;
    for (let k = 0; k < offered; k++) {
      const slot = Math.floor(rand() * ++seen);
      if (slot >= size) continue;
      if (replaced.has(slot)) waiting++;
      replaced.add(slot);
    }
    return replaced.size + waiting;
  };
};

export function simulate(family: Family, seed: number, rounds: number): SiteHistory {
  const made = family(random(seed), rounds);
  return typeof made === 'function' ? history(rounds, made) : history(rounds, made[0], 4096, made[1]);
}
