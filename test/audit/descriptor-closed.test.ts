/** A program that closes a descriptor of the library, for example by closing one of its own twice. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { readCapture } from '../../cli/capture/reader';
import { auditProgram, ROOT, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

/** Closes the descriptors of the capture and of its folder, and opens files of its own, which get their numbers. */
const PROGRAM = `
const fs = require('node:fs');
const torch = require(${JSON.stringify(ROOT)});
const [capture, ...own] = process.argv.slice(1);
const sizeOf = () => fs.statSync(capture).size;
const until = (what, then) => { if (what()) then(); else setTimeout(until, 5, what, then); };
const kept = [];
const made = setInterval(() => kept.push(torch.ones([10])), 5);
const start = sizeOf();
until(() => sizeOf() > start, () => {
  const closed = fs.readdirSync('/proc/self/fd').map(Number).filter((fd) => {
    try {
      return [capture, require('node:path').dirname(capture)].includes(fs.readlinkSync('/proc/self/fd/' + fd));
    } catch {
      return false;
    }
  });
  for (const fd of closed) fs.closeSync(fd);
  const opened = own.map((name) => fs.openSync(name, 'w+'));
  console.log(JSON.stringify({ closed: closed.sort(), opened: opened.sort() }));
  for (const fd of opened) fs.writeSync(fd, 'own');
  const then = sizeOf();
  until(() => sizeOf() > then + 3000 || own.some((name) => fs.statSync(name).size > 3), () => {
    clearInterval(made);
    torch.audit.mark('after');
    // Fails if the library has closed them.
    process.on('exit', () => opened.forEach((fd) => fs.fsyncSync(fd)));
  });
});`;

test('its own files are left alone, and the recording goes on', async () => {
  const capture = file('c.ltna');
  const own = [file('a'), file('b')];
  const { code, stdout, stderr } = await auditProgram(
    ...['run', '-o', capture, '--quiet', '--interval', '100ms', '--max-size', '1MiB', '--json', file('report')],
    ...['--', process.execPath, '-e', PROGRAM, capture, ...own],
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { closed, opened } = JSON.parse(stdout.split('\n')[0]!) as Record<'closed' | 'opened', number[]>;
  expect(closed).toHaveLength(2);
  expect(opened).toEqual(closed); // otherwise this tests nothing
  for (const name of own) expect(fs.readFileSync(name, 'utf8')).toBe('own');
  const { end, lost, marks } = readCapture(capture);
  expect(end).toBeDefined();
  expect(marks.map(({ name }) => name)).toEqual(['after']);
  expect(lost).toBe(0);
});
