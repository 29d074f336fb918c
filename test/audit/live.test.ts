/** `leak-audit live`: a process and a growing capture, in a terminal and elsewhere. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Flag, fileHeader, PacketType } from '../../cli/capture/format';
import { FileSource, openSource } from '../../cli/live/source';
import type { LiveState } from '../../cli/live/state';
import { History, renderView } from '../../cli/live/view';
import { plainColors } from '../../cli/terminal/colors';
import { after } from '../../cli/terminal/timers';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service, until } from '../support/service';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { CLI, leakAudit, Running, refused, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));
const file = (name: string) => path.join(folder, name);

const site = (line: number, live: number, made: number) => ({
  file: `/srv/app/some/quite/long/folder/name/of/a/service/handlers/${line}.ts`,
  line,
  column: 7,
  function: 'handleTheRequestOfTheClient',
  liveTensors: live,
  liveBytes: live * 1000,
  allocatedTensors: made,
  allocatedBytes: made * 10,
});
const stateAt = (ms: number, ...sites: LiveState['sites']): LiveState => ({
  ms,
  tensors: 5 + ms,
  storages: 4,
  bytes: 1000 * ms,
  allocatedBytes: 2e6,
  rss: 3e8,
  devices: [{ device: 'cpu', tensors: 5, bytes: 1000 * ms }],
  sites,
  made: { tensors: ms / 10, bytes: ms * 1024 },
  mode: 'full',
  complete: true,
  processes: 1,
  unread: 0,
});

describe('the view', () => {
  const history = new History();
  history.add(stateAt(1000, site(1, 9, 100), site(2, 1, 0)));
  history.add(stateAt(3000, site(1, 9, 100), site(2, 2, 5000), site(3, 4, 2)));
  const options = {
    title: 'process 7',
    columns: 80,
    rows: 24,
    colors: plainColors,
    folder: '/elsewhere',
    sort: 'bytes' as const,
    paused: false,
    ended: undefined,
  };
  const rowsOf = (lines: string[]) => lines.flatMap((line) => /(\d)\.ts:\d:7/.exec(line)?.[1] ?? []);

  test('fits 80 columns, with rates over the last samples', () => {
    const lines = renderView(history, options);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(24);
    const text = lines.join('\n');
    expect(text).toMatch(/leak-audit live {2}process 7 {2}3\.0 s/);
    expect(text).toMatch(/made 100 tensors\/s, 1000\.0 KiB\/s/);
    expect(text).toMatch(/^ +2 +2\.0 KiB +2,500 +24\.4 KiB +…/m);
  });

  test('sorts by the requested column, and stays within the rows', () => {
    expect(rowsOf(renderView(history, options))).toEqual(['1', '3', '2']);
    expect(rowsOf(renderView(history, { ...options, sort: 'rate' }))).toEqual(['2', '3', '1']);
    expect(rowsOf(renderView(history, { ...options, rows: 13 }))).toHaveLength(1);
    expect(renderView(history, { ...options, rows: 5 }).length).toBeLessThanOrEqual(5);
    expect(renderView(history, { ...options, paused: true })[0]).toMatch(/paused$/);
    expect(renderView(new History(), options).join()).toMatch(/nothing recorded yet/);
  });

  test('earlier tensors do not count as a rate, nor do sites that were omitted before', () => {
    const state = stateAt(2000, site(1, 9, 100), site(2, 2, 500));
    const before = { ...site(0, 9, 7000), file: '(before attach)', line: 0, column: 0, function: '' };
    const first = { ...stateAt(1000, site(1, 9, 50)), complete: false };
    const seen = new History();
    seen.add(first);
    seen.add({ ...state, sites: [...state.sites, before], complete: false });
    expect(seen.rate(before)).toBeNull();
    expect(seen.rate(site(1, 9, 100))).toEqual({ tensors: 50, bytes: 500 });
    expect(seen.rate(site(2, 2, 500))).toBeNull();
    seen.add({ ...stateAt(4000, site(1, 9, 100), site(2, 2, 700)), complete: false });
    expect(seen.rate(site(2, 2, 700))).toEqual({ tensors: 100, bytes: 1000 });
    expect(renderView(seen, { ...options, sort: 'tensors' }).join('\n')).toMatch(/^ +2 +2\.0 KiB +100 /m);
  });

  test('shows how many processes are included, and how many are not', () => {
    const several = new History();
    several.add({ ...stateAt(1000), processes: 3 });
    expect(renderView(several, options).join('\n')).toMatch(/processes +3 {2}the program and its children\n/);
    several.add({ ...stateAt(2000), processes: 3, unread: 1 });
    expect(renderView(several, options).join('\n')).toMatch(/processes +3 {2}1 more is not in these figures\n/);
  });

  test('shows the growth of each site, and the value of the lowest bar', () => {
    const growing = new History();
    for (let i = 0; i < 4; i++) growing.add(stateAt(1000 * (i + 1), site(1, 9 + i, 100), site(2, 4, 50)));
    expect(growing.growth(site(1, 12, 100))).toBeCloseTo(60_000);
    const text = renderView(growing, { ...options, columns: 120 }).join('\n');
    expect(text).toMatch(/bytes\/s {2}growth\/min {2}site$/m);
    expect(text).toMatch(/^ +12 +11\.7 KiB .* 58\.6 KiB {2}\S+1\.ts/m);
    expect(text).toMatch(/^ +4 +3\.9 KiB .* - {2}\S+2\.ts/m);
    expect(text).toMatch(/^live +3\.8 MiB {2}▁▃▆█ from 976\.6 KiB$/m);
  });

  test('restarts with a new recording', () => {
    const other = new History();
    other.add(stateAt(9000, site(1, 9, 100)));
    other.add(stateAt(500, site(1, 1, 1)));
    expect(other.rate()).toBeNull();
    expect(other.state?.ms).toBe(500);
  });
});

test('a process, as lines: live attaches to it and detaches at the end', async () => {
  const service = await Service.start();
  await service.tell('hold 4');
  const { code, stdout, stderr } = await leakAudit(
    'live',
    String(service.pid),
    '--interval',
    '100ms',
    '--duration',
    '1s',
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [titles, ...lines] = stdout.trimEnd().split('\n');
  expect(titles).toMatch(/time +tensors/);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.every((line) => /^ +[\d.]+s +4 +4 +4\.0 KiB/.test(line))).toBe(true);
  expect(JSON.parse((await leakAudit('snapshot', String(service.pid), '--json')).stdout).sites).toBeNull();
});

test('tensors from before the attach are not counted as made', async () => {
  const service = await Service.start();
  await service.tell('hold 500');
  const source = await openSource(String(service.pid));
  const history = new History();
  const look = async () => {
    const state = await source.look();
    if (state !== undefined) history.add(state);
    return state;
  };
  try {
    const inventory = ({ sites }: LiveState) => sites.find(({ file: name }) => name === '(before attach)');
    await until(async () => inventory((await look())!)?.liveTensors === 500 && history.rate() !== null);
    expect(history.state!.made).toEqual({ tensors: 0, bytes: 0 });
    expect(history.rate()).toEqual({ tensors: 0, bytes: 0 });
    await service.tell('hold 3');
    expect((await look())!.made).toEqual({ tensors: 3, bytes: 3 * 1024 });
  } finally {
    await source.close();
  }
});

test('a process that is recorded by another command is shown and stays recorded', async () => {
  const service = await Service.start();
  await service.tell('hold 2');
  await leakAudit('attach', String(service.pid), '-o', file('other'), '--background');
  const live = await leakAudit('live', String(service.pid), '--interval', '100ms', '--duration', '300ms');
  expect(live.stderr).toBe('');
  expect(live).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 2 +2 +2\.0 KiB/) });
  expect(await leakAudit('detach', String(service.pid))).toMatchObject({ code: 0 });
});

/** At exit the recording ends first. */
const ENDED =
  /^leak-audit: (process \d+ has ended or was detached|process \d+ ended or closed the connection|the recording of process \d+ has ended)\n$/;

test('it ends when the process ends or is killed', async () => {
  for (const end of ['exit', 'kill'] as const) {
    const service = await Service.start();
    const live = new Running('live', String(service.pid), '--interval', '50ms');
    await live.wrote(/\d/);
    if (end === 'exit') service.say('exit');
    else service.kill();
    const { code, stderr } = await live.outcome;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(ENDED) });
  }
});

test('a growing capture, until its process ends', async () => {
  const service = await Service.start();
  await service.tell('hold 3');
  const running = new Running('attach', String(service.pid), '-o', file('grows'), '--quiet');
  await running.wrote(/recording process/);
  const live = new Running('live', file('grows'), '--interval', '50ms');
  await live.wrote(/ 3 +3 +3\.0 KiB/);
  await service.tell('hold 2');
  await live.wrote(/ 5 +5 +5\.0 KiB/);
  service.say('exit');
  expect(await live.outcome).toMatchObject({ code: 0, stderr: 'leak-audit: the recording has ended (exit)\n' });
  await running.outcome;

  const ended = leakyCapture().text(PacketType.End, { reason: 'exit', ms: 1, lost: 0 });
  fs.writeFileSync(file('old'), ended.build());
  expect(await leakAudit('live', file('old'))).toMatchObject({ code: 0, stdout: expect.stringMatching(/tensors/) });
});

test('a capture without new events is reported as stalled and still followed', async () => {
  const still = new CaptureBuilder({ pid: process.pid }).tick({ ms: 100 }, []);
  fs.writeFileSync(file('still'), still.build());
  const source = new FileSource(file('still'), 0);
  await source.look();
  expect(source.stalled).toBe(
    `process ${process.pid} does not write: it is stopped, or it is a different process and the file is a copy or truncated`,
  );
  const options = { columns: 80, rows: 24, colors: plainColors, folder: '', sort: 'bytes' as const };
  const stalled = { ...options, title: 'x', paused: false, ended: undefined, stalled: 'process 7 writes nothing' };
  expect(renderView(new History(), stalled)[0]).toBe('leak-audit live  x  process 7 writes nothing');
  const patient = new FileSource(file('still'), limitMs(600_000));
  await patient.look();
  expect(patient.stalled).toBeUndefined();
  fs.writeFileSync(file('still'), fileHeader(Flag.reserved));
  const unclaimed = new FileSource(file('still'), 0);
  expect(await unclaimed.look()).toBeUndefined();
  expect(unclaimed.stalled).toBe('no process has written to the capture yet');
  for (const one of [source, patient, unclaimed]) await one.close();
});

test('a duration may be longer than a timer of Node', () => {
  jest.useFakeTimers();
  try {
    const end = jest.fn();
    after(1000 * 3_600_000, end);
    jest.advanceTimersByTime(999 * 3_600_000);
    expect(end).not.toHaveBeenCalled();
    jest.advanceTimersByTime(3_600_000);
    expect(end).toHaveBeenCalledTimes(1);
    const stop = after(1000 * 3_600_000, end);
    jest.advanceTimersByTime(900 * 3_600_000);
    stop();
    jest.advanceTimersByTime(900 * 3_600_000);
    expect(end).toHaveBeenCalledTimes(1);
  } finally {
    jest.useRealTimers();
  }
});

test('a long --duration does not end at once', async () => {
  fs.writeFileSync(file('long'), new CaptureBuilder({ pid: process.pid }).tick({ ms: 100 }, []).build());
  const live = new Running('live', file('long'), '--interval', '50ms', '--duration', '1000h');
  await live.wrote(/0\.1s/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  live.child.kill('SIGINT');
  expect((await live.outcome).stderr).not.toMatch(/Timeout/);
});

test('when its output is closed it ends, and detaches', async () => {
  const service = await Service.start();
  const live = new Running('live', String(service.pid), '--interval', '20ms');
  await live.wrote(/\d/);
  live.child.stdout!.destroy();
  expect(await live.outcome).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse((await leakAudit('snapshot', String(service.pid), '--json')).stdout).sites).toBeNull();
});

test('a process shown by live cannot be attached to meanwhile', async () => {
  const service = await Service.start();
  const live = new Running('live', String(service.pid), '--interval', '50ms');
  await live.wrote(/\d/);
  expect(await refused('attach', String(service.pid), '-o', file('second'))).toBe(
    `leak-audit: process ${service.pid} is recorded by leak-audit live: quit that first`,
  );
  live.child.kill('SIGINT');
  expect(await live.outcome).toMatchObject({ code: 0, stderr: '' });
  expect(await refused('live', '')).toBe("leak-audit: expected a process id or a file, got ''");
});

/** Runs `leak-audit …` in a new 80 by 24 terminal, presses keys once it shows `first`, and returns its output. */
async function inTerminal(args: string[], first: string, keys: string, env: NodeJS.ProcessEnv): Promise<string> {
  const script = `
import fcntl, os, pty, signal, struct, sys, termios, time
keys, first = sys.argv[1], sys.argv[2].encode()
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[3], sys.argv[3:])
out = b''
pressed = 0
try:
    while True:
        part = os.read(fd, 65536)
        if not part: break
        out += part
        if first in out and pressed < len(keys):
            time.sleep(0.3)
            if keys[pressed] == 'T': os.kill(pid, signal.SIGTERM)
            else: os.write(fd, keys[pressed].encode())
            pressed += 1
except OSError:
    pass
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(out)
print('STATUS', status)`;
  const { FORCE_COLOR, NO_COLOR, ...ordinary } = ordinaryEnv();
  const all = { ...ordinary, TERM: 'xterm', ...env };
  const command = [process.execPath, CLI, ...args];
  return (await run('/usr/bin/python3', ['-c', script, keys, first, ...command], { env: all })).stdout;
}

const ENTER = '\x1b[?1049h\x1b[?25l';
const HOME = '\x1b[H';
const LEAVE = '\x1b[?25h\x1b[?1049l';

test('in a terminal: keys, NO_COLOR, and a restored terminal', async () => {
  const service = await Service.start();
  await service.tell('hold 8');
  const args = ['live', String(service.pid), '--interval', '100ms'];
  const shown = await inTerminal(args, '(before attach)', 'tprpq', {});
  expect(shown).toContain(ENTER);
  expect(shown.slice(shown.lastIndexOf(LEAVE) + LEAVE.length)).toMatch(/^\s*STATUS 0/);
  expect(shown).toContain('\x1b[1mleak-audit live');
  const text = stripVTControlCharacters(shown);
  expect(text).toMatch(/live↓/);
  expect(text).toMatch(/paused/);
  expect(text).toMatch(/bytes\/s↓/);
  expect(text).toMatch(/8 +8\.0 KiB .*\(before attach\)/);
  const lines = shown.split(HOME).flatMap((picture) => stripVTControlCharacters(picture).split('\r\n'));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);

  for (const keys of ['\x03', 'T']) {
    const plain = await inTerminal(args, 'tensors', keys, { NO_COLOR: '1' });
    expect(plain).not.toContain('\x1b[1m');
    expect(plain.slice(plain.lastIndexOf(LEAVE) + LEAVE.length)).toMatch(/^\s*STATUS 0/);
  }
  expect(JSON.parse((await leakAudit('snapshot', String(service.pid), '--json')).stdout).sites).toBeNull();
});
