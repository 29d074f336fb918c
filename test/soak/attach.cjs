/** Recordings of the soak's processes while they work: attach, mark and detach, snapshots, and bytes that are not requests. */
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const CLI = path.resolve(__dirname, '../../dist/cli');
const { Connection } = require(path.join(CLI, 'attach/connection.js'));
const { findTarget } = require(path.join(CLI, 'attach/target.js'));
const { readCapture } = require(path.join(CLI, 'capture/reader.js'));
const { reserve } = require(path.join(CLI, 'capture/reserve.js'));

const MODES = ['full', 'sample', 'counters'];
const MAX_BYTES = 1 << 20;
const RECORDED_MS = 30;

/** Sends bytes to the socket of a process, and goes. */
async function rude(pid, random) {
  const texts = [
    'ltn1 attach fd=1000000 path=%00',
    'ltn1 status\n'.repeat(50),
    `ltn1 ${'x'.repeat(100_000)}`,
    'GET / HTTP/1.1\r\n\r\n',
  ];
  const bytes = random.chance(0.5)
    ? random.pick(texts)
    : Buffer.from(Array.from({ length: 300 }, () => random.below(256)));
  const socket = net.connect({ path: `\0${findTarget(String(pid)).address}` });
  socket.on('error', () => {}); // the process may close it first
  const closed = new Promise((resolve) => socket.once('close', resolve)); // also after an error
  socket.resume().end(bytes);
  await Promise.race([closed, sleep(50)]);
  socket.destroy();
  await closed;
}

/** `pids`: the processes as they are now. */
function attachPart(pids, { random, fail }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-soak-captures-'));
  const file = path.join(folder, 'soak.ltna');
  const counts = { recordings: 0, snapshots: 0, 'hostile bytes': 0 };

  async function recording(connection, pid) {
    const mode = random.pick(MODES);
    const fd = reserve(file);
    try {
      await connection.ask('attach', { fd, path: file, mode, interval: 10, max: MAX_BYTES });
    } finally {
      fs.closeSync(fd);
    }
    await sleep(RECORDED_MS);
    await connection.ask('mark', { name: 'soak' });
    await connection.ask('detach');
    const { lost, tornBytes, end, marks } = readCapture(file);
    const told = JSON.stringify([lost, tornBytes, end?.reason, marks.length]);
    if (told !== '[0,0,"detached",1]') fail(`a ${mode} capture of process ${pid}: expected nothing lost, got ${told}`);
    counts.recordings++;
  }

  return {
    name: 'attach',
    counts,
    async unit() {
      const { pid } = random.pick(await pids());
      if (random.chance(0.3)) {
        await rude(pid, random);
        counts['hostile bytes']++;
      }
      const connection = await Connection.open(String(pid));
      try {
        if (random.chance(0.3)) {
          const { tensors } = await connection.ask('snapshot');
          if (!(tensors >= 0)) fail(`a snapshot of process ${pid} counts ${tensors} tensors`);
          counts.snapshots++;
        } else await recording(connection, pid);
      } finally {
        connection.close();
      }
    },
    async end() {
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

module.exports = { attachPart };
