/** The file of `attach`'s capture: failures are reported in one line, and existing files stay. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Connection } from '../../cli/attach/connection';
import { CaptureFollower, readCapture } from '../../cli/capture/reader';
import { reserve, reserveForLive } from '../../cli/capture/reserve';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service, until } from '../support/service';
import { leakyCapture } from './capture-builder';
import { CLI, leakAudit, refused, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));
const file = (name: string) => path.join(folder, name);

const NOWHERE = /(the folder does not exist or does not accept files|permission denied) \(E\w+\)/;

test('the error says why a file cannot be made, and what to do', () => {
  const said = (fn: () => unknown): string => {
    try {
      fn();
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
    return '';
  };
  expect(said(() => reserve('/proc/x'))).toMatch(
    new RegExp(`^UsageError: cannot write /proc/x: ${NOWHERE.source}\\. Name another with -o FILE$`),
  );
  const long = file('x'.repeat(300));
  expect(said(() => reserve(long))).toBe(
    `UsageError: cannot write ${long}: the name is too long (ENAMETOOLONG). Name another with -o FILE`,
  );
  expect(said(() => reserveForLive('/proc'))).toMatch(
    new RegExp(`^UsageError: cannot create a folder in /proc: ${NOWHERE.source}\\. Name another folder with TMPDIR$`),
  );
});

test('live refuses if its capture cannot be written, and leaves nothing behind', async () => {
  const service = await Service.start();
  fs.mkdirSync(file('tmp'));
  const command = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, CLI, 'live', String(service.pid)];
  const { code, stderr } = await run('bash', command, { env: { ...ordinaryEnv(), TMPDIR: file('tmp') } });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^leak-audit: cannot write .*: the file size limit of this process is exceeded \(ulimit -f\) \(EFBIG\)\. /,
  );
  expect(stderr).toMatch(/ Name another folder with TMPDIR\n$/);
  expect(fs.readdirSync(file('tmp'))).toEqual([]);
});

test('run says why there is no folder for temporary files', async () => {
  const { code, stdout, stderr } = await leakAudit(['run', '--', 'true'], { TMPDIR: file('nowhere') });
  expect({ code, stdout, stderr }).toEqual({
    ...{ code: 2, stdout: '' },
    stderr: `leak-audit: cannot create a folder in ${file('nowhere')}: the folder does not exist or does not accept files (ENOENT). Name another folder with TMPDIR\n`,
  });
});

test('a deleted working folder', async () => {
  const service = await Service.start();
  const command = [
    '-c',
    'mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec "$0" "$@"',
    process.execPath,
    file('gone'),
  ];
  for (const args of [
    ['attach', String(service.pid)],
    ['snapshot', String(service.pid)],
  ]) {
    const { code, stdout, stderr } = await run('sh', [...command, CLI, ...args], { env: ordinaryEnv() });
    const said = 'leak-audit: the working folder does not exist\n';
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: said });
  }
});

test('devices and pipes are not replaced', () => {
  execFileSync('mkfifo', [file('pipe')]);
  expect(() => reserve(file('pipe'))).toThrow(`cannot write ${file('pipe')}: not a regular file.`);
  expect(fs.lstatSync(file('pipe')).isFIFO()).toBe(true);
});

test('an old capture is replaced by a new one that only its owner can access', () => {
  fs.writeFileSync(file('old'), 'old', { mode: 0o644 });
  fs.closeSync(reserve(file('old')));
  expect(fs.readFileSync(file('old')).toString('latin1', 0, 8)).toBe('LTNAUDIT');
  expect(fs.statSync(file('old')).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
});

/** For `node -r`: takes the name of the capture as soon as the capture exists. */
const SWAP = `
  const fs = require('node:fs');
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    renameSync(from, to);
    if (!to.endsWith('swapped.ltna')) return;
    renameSync(to, to + '.own');
    fs.symlinkSync(to + '.other', to);
  };`;

test('a file that takes the capture’s name before the recording is neither changed nor read', async () => {
  const service = await Service.start();
  await service.tell('hold 100');
  const [swap, named] = [file('swap.cjs'), file('swapped.ltna')] as [string, string];
  fs.writeFileSync(swap, SWAP);
  fs.closeSync(reserve(`${named}.other`)); // unclaimed, like the real file
  const other = fs.readFileSync(`${named}.other`);
  const args = ['attach', String(service.pid), '-o', named, '--interval', '20ms', '--duration', '500ms', '--quiet'];
  const { code, stdout, stderr } = await run(process.execPath, ['-r', swap, CLI, ...args], { env: ordinaryEnv() });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('capture written to') });
  expect(fs.lstatSync(named).isSymbolicLink()).toBe(true);
  expect(fs.readFileSync(`${named}.other`)).toEqual(other);
  expect(stdout).toContain('(before attach)');
  expect(readCapture(`${named}.own`).end?.reason).toBe('detached');
});

test('the capture for a look at a process is the file that was opened', () => {
  const { folder: own, file: name, fd } = reserveForLive(folder);
  const opened = fs.fstatSync(fd);
  expect(fs.statSync(name).ino).toBe(opened.ino);
  fs.closeSync(fd);
  fs.rmSync(own, { recursive: true });
});

test('a regular file that replaces a capture is followed, a link is not', () => {
  const named = file('followed.ltna');
  const follower = new CaptureFollower(named, reserve(named));
  const growing = leakyCapture(4).build();
  fs.writeFileSync(file('elsewhere'), leakyCapture(9).build());
  fs.writeFileSync(named, growing);
  follower.poll();
  expect(follower.capture.ticks).toHaveLength(4);
  fs.rmSync(named);
  expect(follower.poll()).toBe(true);
  fs.symlinkSync(file('elsewhere'), named);
  follower.poll();
  expect(follower.capture.ticks).toHaveLength(4);
  fs.renameSync(file('elsewhere'), named);
  follower.poll();
  expect(follower.capture.ticks).toHaveLength(9);
  follower.close();
});

test('a parent folder swapped while a capture is shortened: the other folder’s files stay unchanged', async () => {
  const service = await Service.start();
  const pid = String(service.pid);
  for (const name of ['own', 'other']) fs.mkdirSync(file(name));
  for (const name of ['c.ltna', 'c.ltna.new']) fs.writeFileSync(path.join(file('other'), name), 'of another');
  const named = path.join(file('own'), 'c.ltna');
  const fd = reserve(named);
  const connection = await Connection.open(pid); // like `attach`, which refuses a cap as small as this one
  await connection.ask('attach', { fd, path: named, mode: 'full', interval: 10, max: 16384 });
  fs.closeSync(fd);
  fs.renameSync(file('own'), file('moved'));
  fs.symlinkSync(file('other'), file('own'));
  await service.tell('busy on');
  const capture = path.join(file('moved'), 'c.ltna');
  const [FLAGS, CAPPED] = [12, 4];
  await until(async () => (fs.readFileSync(capture)[FLAGS]! & CAPPED) !== 0);
  await service.tell('busy off');
  await connection.ask('detach');
  connection.close();
  expect(fs.readdirSync(file('other')).sort()).toEqual(['c.ltna', 'c.ltna.new']);
  for (const name of ['c.ltna', 'c.ltna.new'])
    expect(fs.readFileSync(path.join(file('other'), name), 'utf8')).toBe('of another');
  expect(fs.readdirSync(file('moved'))).toEqual(['c.ltna']);
  expect(fs.statSync(capture).mode & 0o777).toBe(0o600);
});

test('attach: one line, status 2, nothing half-written, and nothing recorded', async () => {
  const service = await Service.start();
  const pid = String(service.pid);
  expect(await refused('attach', pid, '-o', '/proc/x')).toMatch(/^leak-audit: cannot write \/proc\/x: /);
  expect(await refused('attach', pid, '-o', '-')).toBe(
    'leak-audit: a capture cannot be written to stdout: name a file with -o FILE',
  );

  fs.mkdirSync(file('full'));
  const old = path.join(folder, 'full', 'old');
  fs.writeFileSync(old, 'an old capture');
  const command = ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, CLI, 'attach', pid, '-o', old];
  const { code, stdout, stderr } = await run('bash', command, { env: ordinaryEnv() });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: `leak-audit: cannot write ${old}: the file size limit of this process is exceeded (ulimit -f) (EFBIG). Name another with -o FILE\n`,
  });
  expect(fs.readdirSync(file('full'))).toEqual(['old']);
  expect(fs.readFileSync(old, 'utf8')).toBe('an old capture');
  expect(JSON.parse((await leakAudit('snapshot', pid, '--json')).stdout).sites).toBeNull();
});
