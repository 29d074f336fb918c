/** What the fuzzer gives damaged files to: the loaders, the reader of captures, and the socket of `leak-audit attach`. */
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { goodFiles } = require('./damage.cjs');

/** Files are written to the current folder, which the fuzzer makes for a child. */
const FILE = 'damaged';

function written(bytes) {
  fs.writeFileSync(FILE, bytes);
  return path.resolve(FILE);
}

/** What the client does not wait longer for. */
const ANSWER_MS = 2_000;

/** Sends bytes to this process's own socket; then it must still answer a request. */
async function attach(cli, bytes) {
  const { findTarget } = require(path.join(cli, 'attach/target.js'));
  const { Connection } = require(path.join(cli, 'attach/connection.js'));
  const { address } = findTarget(String(process.pid));
  await new Promise((resolve) => {
    const socket = net.connect({ path: `\0${address}` });
    const over = setTimeout(() => socket.destroy(), ANSWER_MS);
    socket.on('error', () => {}); // the library may close it first
    socket.once('close', () => {
      clearTimeout(over);
      resolve();
    });
    socket.resume().end(bytes);
  });
  const connection = await Connection.open(String(process.pid));
  try {
    const { pid } = await connection.ask('status');
    if (pid !== process.pid) throw new Error(`expected an answer of ${process.pid}, got ${pid}`);
  } finally {
    connection.close();
  }
}

/** Requests as a client sends them, which edits damage. */
const REQUESTS = Buffer.from(
  'ltn1 status\nltn1 attach fd=3 path=%2Ftmp%2Fx mode=full interval=10 max=1048576\nltn1 mark name=x\nltn1 snapshot\nltn1 detach\n',
);

/** A capture of recorded.cjs. */
function captureOf(lib, cli) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-fuzz-capture-'));
  const file = path.join(folder, 'good.ltna');
  const args = [
    'run',
    '--interval',
    '50ms',
    '-o',
    file,
    '--',
    process.execPath,
    path.join(__dirname, 'recorded.cjs'),
    lib,
  ];
  try {
    execFileSync(process.execPath, [path.join(cli, 'leak-audit.js'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return fs.readFileSync(file);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The capture that another child of the campaign made, or a new one, which is left there for the others. */
function sharedCapture(lib, cli, file) {
  if (file === undefined) return captureOf(lib, cli);
  try {
    return fs.readFileSync(file);
  } catch {
    const bytes = captureOf(lib, cli);
    fs.writeFileSync(`${file}.${process.pid}`, bytes);
    fs.renameSync(`${file}.${process.pid}`, file);
    return bytes;
  }
}

/**
 * The targets, each with its `format`, and `good(format)`: the bytes of a good file. The capture is kept in `captureFile`, if
 * one is named, because making it takes two processes.
 */
function fileTargetsOf(lib, torch, captureFile) {
  const cli = path.resolve(lib, '../cli');
  /** An error of the tool is one line for the user, and has no code. */
  const asTool = (fn) => {
    const { UsageError } = require(path.join(cli, 'errors/errors.js'));
    try {
      return fn();
    } catch (error) {
      if (error instanceof UsageError && !error.message.includes('\n')) error.code = 'ERR_TORCH_FILE';
      throw error;
    }
  };
  const fns = {
    'torch.load': ['pt', (bytes) => torch.load(written(bytes))],
    'torch.load of bytes': ['pt', (bytes) => torch.load(bytes)],
    'npy.load': ['npy', (bytes) => torch.npy.load(written(bytes))],
    'npz.load': ['npz', (bytes) => torch.npz.load(written(bytes))],
    'safetensors.load': ['safetensors', (bytes) => torch.safetensors.load(written(bytes))],
    'jit.load': ['model', (bytes) => torch.jit.load(written(bytes))],
    'leak-audit report': [
      'capture',
      (bytes) =>
        asTool(() => {
          const { loadCapture } = require(path.join(cli, 'capture/load.js'));
          const { reportOn } = require(path.join(cli, 'analysis/loaded.js'));
          const { renderText } = require(path.join(cli, 'reporters/text.js'));
          const { colorsFor } = require(path.join(cli, 'terminal/colors.js'));
          const options = { colors: colorsFor(process.stderr), columns: 80, folder: '/', allFrames: true };
          return renderText(reportOn(loadCapture(written(bytes))), options);
        }),
    ],
    'leak-audit repair': [
      'capture',
      (bytes) =>
        asTool(() => {
          const { CaptureWriter } = require(path.join(cli, 'capture/copy.js'));
          const writer = new CaptureWriter(path.resolve('repaired'));
          try {
            writer.copy(written(bytes), true, () => {});
            writer.finish();
          } catch (error) {
            writer.abandon();
            throw error;
          }
        }),
    ],
    attach: ['request', (bytes) => attach(cli, bytes)],
  };
  const cache = {};
  const makers = { capture: () => sharedCapture(lib, cli, captureFile), request: () => REQUESTS };
  return {
    targets: Object.entries(fns).map(([name, [format, fn]]) => ({ name: `files.${name}`, kind: 'files', format, fn })),
    good(format) {
      cache[format] ??= makers[format]?.() ?? goodFiles(torch)[format];
      return cache[format];
    },
  };
}

module.exports = { fileTargetsOf };
