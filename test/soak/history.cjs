/** The figures of each process, round by round: bytes as the model says, memory of its own, files and threads within bounds. */
'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

/** Rounds in which caches, heaps and pools reach their sizes, unless a process says otherwise. The bounds are from these. */
const WARM_UP = 5;
/** How much more a process may have than at its largest in the warm-up. */
const MORE = { own: 64 * 2 ** 20, files: 4, threads: 4 };
const UNITS = { own: 'bytes of its own resident', files: 'open files', threads: 'threads' };
/** How long a service may take until its last request has let go of its tensors. The programs answer when they have settled. */
const [TRIES, PAUSE_MS] = [200, 50];

const keyed = (figures) => new Map(figures.map((one) => [one.pid, one]));

class History {
  /** By the name of the process. */
  #processes = new Map();
  #fail;
  isOver = false;

  constructor(fail) {
    this.#fail = fail;
  }

  /** Asks every process; `figuresOf` are those of Linux. */
  async add(parts, figuresOf) {
    for (const part of parts) {
      const expected = await part.pids();
      const isRight = (now) =>
        expected.every(({ pid, tensors, bytes }) => {
          const one = now.get(pid);
          return one?.tensors === tensors && one.bytes === bytes;
        });
      let now = keyed(await part.rest());
      for (let tries = part.isService ? TRIES : 0; tries > 0 && !isRight(now); tries--) {
        await sleep(PAUSE_MS);
        now = keyed(await part.rest());
      }
      for (const one of expected) this.#take(one, now.get(one.pid), figuresOf(one.pid));
    }
  }

  #take({ name, pid, tensors, bytes, warmUp = WARM_UP }, held, figures) {
    if (figures === undefined) throw new Error(`${name}: process ${pid} has ended`);
    const row = this.#processes.get(name) ?? {
      name,
      pid,
      tensors,
      bytes,
      rounds: 0,
      wrong: 0,
      first: {},
      last: {},
      most: {},
      restarts: 0,
    };
    this.#processes.set(name, row);
    row.rounds++;
    if (held?.tensors !== tensors || held.bytes !== bytes) {
      row.wrong++;
      this.#fail(`${name}: expected ${tensors} tensors of ${bytes} bytes, got ${held?.tensors} of ${held?.bytes}`);
    }
    if (pid !== row.pid) {
      // A new process of this name warms up again.
      Object.assign(row, { pid, restarts: row.restarts + 1, begun: row.rounds });
    }
    row.last = figures;
    const isWarm = row.rounds - (row.begun ?? 0) > warmUp;
    for (const [what, value] of Object.entries(figures)) {
      if (isWarm && value > row.first[what] + MORE[what]) {
        this.#fail(`${name}: ${value} ${UNITS[what]}, after ${row.first[what]} in the first ${warmUp} rounds`);
      }
      if (!isWarm) row.first[what] = Math.max(row.first[what] ?? 0, value);
      row.most[what] = Math.max(row.most[what] ?? 0, value);
    }
  }

  rows() {
    return [...this.#processes.values()];
  }

  summary() {
    return this.rows()
      .map(
        ({ name, last, wrong }) =>
          `${name} ${Math.round(last.own / 2 ** 20)} MiB${wrong > 0 ? `, ${wrong} wrong` : ''}`,
      )
      .join('; ');
  }
}

module.exports = { History };
