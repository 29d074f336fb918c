/** A process that is stopped while it is recorded: `attach` does not wait for it, and reports what there is. */
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { Service } from '../support/service';
import { Running, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(120_000));

test.each([
  ['after --duration', ['--duration', '500ms'], false],
  ['after Ctrl-C', [], true],
])('%s', async (name, options, interrupts) => {
  const service = await Service.start();
  const capture = path.join(folder, `${interrupts}.ltna`);
  const running = new Running('attach', String(service.pid), '-o', capture, ...options);
  await running.wrote(/recording process/);
  process.kill(service.pid, 'SIGSTOP');
  try {
    if (interrupts) running.child.kill('SIGINT');
    const { code, stderr, stdout } = await running.outcome;
    expect({ name, code }).toEqual({ name, code: 0 });
    expect(stderr).toContain(
      `process ${service.pid} is stopped: continue it with kill -CONT ${service.pid}; the recording ends when it continues\n`,
    );
    expect(stdout).toContain('INSUFFICIENT');
  } finally {
    process.kill(service.pid, 'SIGCONT');
  }
  expect(await service.tell('memory')).toMatchObject({ tensors: 0 });
});
