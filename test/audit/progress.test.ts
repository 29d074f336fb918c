/** Long work shows its progress, only on a terminal. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import * as path from 'node:path';
import { packet } from '../../cli/capture/format';
import { Progress } from '../../cli/terminal/progress';
import { ordinaryEnv } from '../support/sanitized';
import { leakyCapture } from './capture-builder';
import { CLI, testFolder } from './command';

const folder = testFolder();

/** A terminal that records its input, and a clock that the test sets. */
function terminal(columns = 80, isTTY = true) {
  const state = { now: 0, text: '' };
  const write = (text: string) => {
    state.text += text;
  };
  return { state, progress: new Progress({ isTTY, columns, write }, () => state.now) };
}

test('nothing within a second, then a line that is overwritten and removed', () => {
  const { state, progress } = terminal();
  progress.bytes('reading a.ltna', 1, 1000);
  state.now = 999;
  progress.bytes('reading a.ltna', 100, 1000);
  expect(state.text).toBe('');
  state.now = 1000;
  progress.bytes('reading a.ltna', 423, 1000);
  expect(state.text).toBe('\rreading a.ltna: 42% of 1000 B');
  state.now = 1050; // too soon
  progress.bytes('reading a.ltna', 500, 1000);
  expect(state.text).toBe('\rreading a.ltna: 42% of 1000 B');
  progress.stage('writing');
  expect(state.text).toBe('\rreading a.ltna: 42% of 1000 B\rwriting …                    ');
  state.text = '';
  progress.end();
  expect(state.text).toBe(`\r${' '.repeat(9)}\r`);
  progress.end();
  expect(state.text).toBe(`\r${' '.repeat(9)}\r`);
});

test('later quick work prints nothing again', () => {
  const { state, progress } = terminal();
  progress.count('judging', 1, 2000, 'sites');
  state.now = 5000;
  progress.count('judging', 1500, 2000, 'sites');
  expect(state.text).toBe('\rjudging: 1,500 of 2,000 sites');
  progress.end();
  state.text = '';
  progress.stage('writing');
  expect(state.text).toBe('');
});

test('in a narrow terminal the end of the line remains', () => {
  const { state, progress } = terminal(20);
  progress.stage('');
  state.now = 2000;
  progress.bytes('reading /long/path/app.ltna', 5, 0);
  expect(state.text).toBe('\r…path/app.ltna: 5 B');
});

test('wide characters take two columns', () => {
  const { state, progress } = terminal(20);
  progress.stage('');
  state.now = 2000;
  progress.bytes('読み込み/長い名前.ltna', 5, 0);
  expect(state.text).toBe('\r…長い名前.ltna: 5 B'); // 19 columns
  state.now = 3000;
  progress.stage('a');
  progress.end();
  expect(state.text).toBe(`\r…長い名前.ltna: 5 B\ra …${' '.repeat(16)}\r   \r`);
});

test('without a terminal nothing is printed', () => {
  const { state, progress } = terminal(80, false);
  for (state.now = 0; state.now < 10_000; state.now += 100) progress.bytes('reading', state.now, 10_000);
  progress.end();
  expect(state.text).toBe('');
});

/** Runs its arguments in a new terminal, and copies their output. */
const IN_TERMINAL = `
import os, pty, sys
status = pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536))
sys.exit(os.waitstatus_to_exitcode(status))`;

test('a slow capture in a terminal: a line while it is read, removed before the report', async () => {
  const pipe = path.join(folder, 'slow.ltna');
  execFileSync('mkfifo', [pipe]);
  const args = ['-c', IN_TERMINAL, process.execPath, CLI, 'report', pipe];
  const env = { ...ordinaryEnv(), TERM: 'xterm', NO_COLOR: '1' };
  const child: ChildProcess = spawn('/usr/bin/python3', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout!.on('data', (chunk) => {
    text += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  // Opening only for writing would wait for the reader, and writing to a full pipe for its reads.
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  writeSync(fd, leakyCapture().build());
  const later: number = 99;
  const nothing = packet(later, Buffer.alloc(8)); // of an unknown type
  while (!text.includes('slow.ltna: ') && child.exitCode === null) {
    try {
      writeSync(fd, nothing);
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('EAGAIN');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  closeSync(fd);
  expect(await ended).toBe(0);
  expect(text).toMatch(/^\r(reading |…).*slow\.ltna: [\d.]+ K?i?B/);
  expect(text).toMatch(/\r +\r\r?\nLEAK {2}\/srv\/app\.js:10:5/);
});
