/** A thread's tensors are in the capture by line, however late the thread reports them, unless it never can. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { lastOf } from '../../cli/analysis/sites';
import { Connection } from '../../cli/attach/connection';
import { readCapture } from '../../cli/capture/reader';
import { reserve } from '../../cli/capture/reserve';
import { limitMs } from '../support/sanitized';
import { pause, Service } from '../support/service';
import { testFolder } from './command';

jest.setTimeout(limitMs(120_000));
const folder = testFolder();

/** The capture's live tensors, in total and by line, for a service that holds 100 and whose loop was blocked. */
async function recorded(service: Service, connection: Connection, released: 'before detach' | 'after it') {
  const [capture, goOn] = ['told.ltna', 'go-on'].map((name) => path.join(folder, name)) as [string, string];
  fs.rmSync(capture, { force: true });
  fs.rmSync(goOn, { force: true });
  // Otherwise the loop may learn of the recording before it is blocked.
  expect(await service.tell(`stall ${goOn}`)).toBe('blocked');
  const fd = reserve(capture);
  await connection.ask('attach', { fd, path: capture, mode: 'full', interval: 20 });
  fs.closeSync(fd);
  const detached = connection.ask('detach');
  if (released === 'before detach') await pause(50);
  else await detached;
  fs.writeFileSync(goOn, '');
  await detached;
  await service.answer();
  const { ticks, series, lost } = readCapture(capture);
  expect(lost).toBe(0);
  return { inAll: ticks.at(-1)!.tensors, byLine: lastOf([...series.values()], (site) => site.liveTensors) };
}

test('detach waits for a thread that has been busy since the start of the recording', async () => {
  const service = await Service.start();
  await service.tell('hold 100');
  const connection = await Connection.open(String(service.pid));
  // Sometimes the machine does not schedule the thread within half a second.
  for (;;) {
    const { inAll, byLine } = await recorded(service, connection, 'before detach');
    expect(inAll).toBe(100);
    if (byLine === 100) break;
  }
  connection.close();
});

test('detach does not wait forever: tensors of a blocked thread are in the totals', async () => {
  const service = await Service.start();
  await service.tell('hold 100');
  const connection = await Connection.open(String(service.pid));
  expect((await recorded(service, connection, 'after it')).inAll).toBe(100);
  connection.close();
});
