/** The other thread of the test, which is reused for all runs and answers while this one waits. */
'use strict';

const assert = require('node:assert');
const { once } = require('node:events');
const path = require('node:path');
const { Worker, MessageChannel, receiveMessageOnPort } = require('node:worker_threads');

const LIMIT_MS = 60_000 * Number(process.env.LTN_TIME_FACTOR ?? 1);

class Peer {
  constructor(lib) {
    this.lib = lib;
    this.worker = null;
    this.starts = 0;
    this.native = require(path.resolve(lib, 'addon/native.js')).native;
  }

  /** Bytes reported to V8 in this thread. */
  reportedHere() {
    return this.native.reportedBytes();
  }

  start() {
    const [commands, mail] = [new MessageChannel(), new MessageChannel()];
    this.commands = commands.port1;
    this.mail = mail.port1;
    this.answered = new Int32Array(new SharedArrayBuffer(4));
    this.answers = 0;
    const workerData = { lib: this.lib, commands: commands.port2, mail: mail.port2, answered: this.answered };
    this.worker = new Worker(path.join(__dirname, 'peer-thread.cjs'), {
      workerData,
      transferList: [commands.port2, mail.port2],
    });
    this.worker.unref();
    this.starts++;
    this.external = this.ask({ do: 'external' });
  }

  /** Runs a command and returns its answer; rethrows its error, with the code. */
  ask(command) {
    if (this.worker === null) this.start();
    this.commands.postMessage(command);
    const answer = this.wait(command);
    if (answer.error === undefined) return answer.value;
    throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
  }

  wait(command) {
    // Counted, because a wake-up may be a late one for the previous answer.
    while (Atomics.load(this.answered, 0) === this.answers) {
      const woken = Atomics.wait(this.answered, 0, this.answers, LIMIT_MS);
      if (woken === 'timed-out') assert.fail(`no answer to ${command.do}`);
    }
    this.answers++;
    return receiveMessageOnPort(this.commands).message;
  }

  /** A message that the thread does not read until requested. */
  post(message) {
    if (this.worker === null) this.start();
    this.mail.postMessage(message);
  }

  /** Ends the thread: idle, during work, or by itself. */
  async stop(how = 'idle') {
    const { worker } = this;
    if (worker === null) return;
    worker.ref();
    const exit = once(worker, 'exit');
    if (how === 'busy') this.ask({ do: 'begin' });
    if (how === 'exit') this.commands.postMessage({ do: 'exit' });
    else worker.terminate();
    await exit;
    this.commands.close();
    this.mail.close();
    this.worker = null;
  }
}

module.exports = { Peer };
