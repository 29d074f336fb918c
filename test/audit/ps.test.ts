/** `leak-audit ps` and `attach --check` on running services. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { ProcessList } from '../../cli/attach/processes';
import { renderProcesses } from '../../cli/reporters/ps';
import { plainColors } from '../../cli/terminal/colors';
import { limitMs } from '../support/sanitized';
import { Service, until } from '../support/service';
import { leakAudit, Running, refused, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));

test('ps lists the services with their tensors and bytes, recorded or not; attach --check fails on a leak only', async () => {
  const service = await Service.start();
  await service.tell('hold 10');
  const { tensors, bytes } = await service.tell('memory');
  const { code, stdout, stderr } = await leakAudit('ps', '--json', '--interval', '50ms');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const list = JSON.parse(stdout) as ProcessList;
  const own = list.processes.find(({ pid }) => pid === service.pid);
  expect(own).toMatchObject({ tensors, bytes, tensorsPerMinute: 0, bytesPerMinute: 0, recordedBy: null });
  expect(own!.command).toMatch(/^\S*node.* \S*service-program\.cjs$/);

  const capture = path.join(folder, 'checked');
  const running = new Running('attach', String(service.pid), '-o', capture, '--interval', '20ms', '--check', '--quiet');
  await running.wrote(/recording process/);
  const text = (await leakAudit('ps', '--interval', '50ms')).stdout;
  expect(text).toMatch(/^ *pid +tensors +live bytes +growth\/min +rss +recorded +command$/m);
  expect(text).toMatch(new RegExp(`^ *${service.pid} +${tensors} .* by attach +\\S*node`, 'm'));
  const size = async () => fs.statSync(capture).size;
  for (let i = 0; i < 40; i++) {
    // Each in a round of its own.
    const before = await size();
    await service.tell('hold 1');
    await until(async () => (await size()) > before);
  }
  await leakAudit('detach', String(service.pid));
  const outcome = await running.outcome;
  expect(outcome.stdout).toMatch(/^LEAK /m);
  expect(outcome.code).toBe(1);

  expect(await refused('attach', String(service.pid), '--check', '--background')).toMatch(/cannot be combined/);
  expect(await refused('ps', '--interval', '1m')).toMatch(/expected at most 8s, got 1m/);
});

test('a stopped process is listed with the reason why it does not answer', async () => {
  const service = await Service.start();
  const reason = `process ${service.pid} is stopped: continue it with kill -CONT ${service.pid}`;
  process.kill(service.pid, 'SIGSTOP');
  await until(async () => /^State:\s*T/m.test(fs.readFileSync(`/proc/${service.pid}/status`, 'utf8')));
  const { stdout } = await leakAudit('ps', '--json', '--interval', '50ms');
  const list = JSON.parse(stdout) as ProcessList;
  expect(list.silent).toContainEqual({ pid: service.pid, reason });
  expect(list.processes.map(({ pid }) => pid)).not.toContain(service.pid);
  expect((await leakAudit('ps', '--interval', '50ms')).stdout).toContain(`${reason}\n`);
  process.kill(service.pid, 'SIGCONT');
  service.kill();
});

test('where no process answers, the list does not say that there is none', () => {
  const silent = [{ pid: 7, reason: 'process 7 is stopped: continue it with kill -CONT 7' }];
  const options = { colors: plainColors, folder };
  expect(renderProcesses({ version: 1, processes: [], silent }, options)).toBe(`${silent[0]!.reason}\n`);
  expect(renderProcesses({ version: 1, processes: [], silent: [] }, options)).toMatch(/^no process of this user/);
});
