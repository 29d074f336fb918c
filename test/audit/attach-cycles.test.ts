/** Repeated attach and detach on a loaded service with a worker thread: every byte is recorded. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { lastOf } from '../../cli/analysis/sites';
import { Connection } from '../../cli/attach/connection';
import { readCapture } from '../../cli/capture/reader';
import { reserve } from '../../cli/capture/reserve';
import { limitMs } from '../support/sanitized';
import { pause, Service, until } from '../support/service';
import { testFolder } from './command';

const folder = testFolder();
/** For more cycles: LTN_ATTACH_CYCLES=1000. */
const CYCLES = Number(process.env.LTN_ATTACH_CYCLES ?? 50);
const MODES = ['full', 'full', 'sample', 'counters'];

/** Attaches, lets the service work, and compares the capture once it pauses. Returns whether the comparison was possible. */
async function cycle(service: Service, connection: Connection, number: number): Promise<boolean> {
  const file = path.join(folder, 'cycle.ltna');
  const mode = MODES[number % MODES.length]!;
  const fd = reserve(file);
  await connection.ask('attach', { fd, path: file, mode, interval: 20, max: number % 3 === 0 ? 1 << 20 : 0 });
  fs.closeSync(fd);
  await pause(number % 5 === 0 ? 40 : 2);
  const paused = number % 2 === 0;
  if (paused) await service.tell('busy off');
  const before = paused ? await service.tell('memory') : undefined;
  await connection.ask('mark', { name: `cycle ${number}` });
  await connection.ask('detach');
  const capture = readCapture(file);
  expect([capture.lost, capture.tornBytes, capture.end?.reason, capture.marks.length]).toEqual([0, 0, 'detached', 1]);
  const last = capture.ticks.at(-1)!;
  const after = paused ? await service.tell('memory') : undefined;
  // Otherwise a collection ran meanwhile, either before or after the last round.
  const known = paused && after.tensors === before.tensors && after.bytes === before.bytes;
  if (known) {
    const { tensors, bytes } = after;
    expect([last.tensors, last.bytes]).toEqual([tensors, bytes]);
    if (mode === 'full') {
      const all = [...capture.series.values()];
      expect(lastOf(all, (series) => series.liveTensors)).toBe(tensors);
      expect(lastOf(all, (series) => series.liveBytes)).toBe(bytes);
      // --max-size drops details, and the capture reports that.
      const detailed = [...capture.liveTensors()].length;
      expect(detailed + Math.min(capture.droppedDetail, tensors - detailed)).toBe(tensors);
    }
  }
  if (number === 0) expect(analyse(capture).sites.map((site) => site.file)).toContain('(before attach)');
  if (paused) await service.tell('busy on');
  return known;
}

test(
  'cycles of attach and detach',
  async () => {
    const service = await Service.start();
    await service.tell('hold 100');
    await service.tell('worker');
    await service.tell('busy on');
    const connection = await Connection.open(String(service.pid));
    const held = () => ['fd', 'task'].map((what) => fs.readdirSync(`/proc/${service.pid}/${what}`).length).join();
    // An ended thread is listed until the kernel has released it, so this checks until two results agree.
    const settled = async () => {
      for (let last = held(); ; ) {
        await pause(200);
        const now = held();
        if (now === last) return now;
        last = now;
      }
    };
    for (let i = 0; i < 5; i++) await cycle(service, connection, i);
    const before = await settled();
    // The slower the machine, the more often a collection interferes.
    for (let i = 5, compared = 0; i < CYCLES || compared <= CYCLES / 5; i++) {
      if (await cycle(service, connection, i)) compared++;
    }
    await until(async () => held() === before);
    connection.close();
    await service.tell('busy off');
    expect((await service.tell('memory')).tensors).toBeGreaterThanOrEqual(100);
  },
  limitMs(60_000 + CYCLES * 1000),
);
